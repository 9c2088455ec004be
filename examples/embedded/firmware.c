// SPDX-License-Identifier: Apache-2.0
// Firmware that links the library of a network: it writes an input, calls the network, and stores
// the index of the largest output. Start-up code calls xtc_entry; in a project with its own start-up
// code, this is main.

#include "classify.h"

volatile int32_t sensor[16];
volatile int32_t chosen = -1;

void xtc_entry(void) {
  float *x = classify_x();
  for (int i = 0; i < 16; ++i) {
    x[i] = (float)sensor[i] / 128.0f;
  }
  classify();
  const float *y = classify_y();
  int best = 0;
  for (int i = 1; i < 4; ++i) {
    best = y[i] > y[best] ? i : best;
  }
  chosen = best;
}
