// SPDX-License-Identifier: Apache-2.0
// The counters of a simulated MPPA, by name.
#ifndef DRIVER_COUNTERS_H
#define DRIVER_COUNTERS_H

#include "mppa_block.h"
#include "xtc_engine.h"

// Bytes copied, and copies, by the host: to the device, from it, and within it.
typedef struct {
    _Atomic uint64_t bytes[3], copies[3];
} mppa_host_counts;

typedef struct {
    uint32_t count;
    const char *names[]; // the texts follow
} mppa_counter_names;

void mppa_count_copy(mppa_host_counts *counts, xtc_kind kind, uint64_t nbytes);

// All names, in the order of the values; to be freed; NULL where there is no memory.
mppa_counter_names *mppa_counter_names_of(const mppa_machine *machine);
void mppa_counter_values(const mppa_block *block, const mppa_host_counts *counts, uint64_t *values);

#endif
