// SPDX-License-Identifier: Apache-2.0
// Counters of copies to, from and within a device.
#ifndef XTC_COPIES_H
#define XTC_COPIES_H

#include "xtc_engine.h"

#define XTC_COPY_COUNTERS 6

typedef struct {
    _Atomic uint64_t bytes[3], copies[3];
} xtc_copies;

// The names of the counters, each with `prefix`, a string literal.
#define XTC_COPY_NAMES(prefix)                                                                     \
    prefix "H2D_BYTES", prefix "D2H_BYTES", prefix "D2D_BYTES", prefix "H2D_COPIES",               \
        prefix "D2H_COPIES", prefix "D2D_COPIES"

void xtc_copies_count(xtc_copies *counts, xtc_kind kind, uint64_t nbytes);
// Write the counters; returns the address after the last one.
uint64_t *xtc_copies_values(const xtc_copies *counts, uint64_t *values);

#endif
