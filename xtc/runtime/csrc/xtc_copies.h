// SPDX-License-Identifier: Apache-2.0
// What the host copied: to a device, from it, and within it.
#ifndef XTC_COPIES_H
#define XTC_COPIES_H

#include "xtc_engine.h"

#define XTC_COPY_COUNTERS 6

typedef struct {
    _Atomic uint64_t bytes[3], copies[3];
} xtc_copies;

// The counters' names, each after `prefix`, a string literal.
#define XTC_COPY_NAMES(prefix)                                                                     \
    prefix "H2D_BYTES", prefix "D2H_BYTES", prefix "D2D_BYTES", prefix "H2D_COPIES",               \
        prefix "D2H_COPIES", prefix "D2D_COPIES"

void xtc_copies_count(xtc_copies *counts, xtc_kind kind, uint64_t nbytes);
// Write the counters; returns where the next one goes.
uint64_t *xtc_copies_values(const xtc_copies *counts, uint64_t *values);

#endif
