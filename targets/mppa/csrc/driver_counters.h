// SPDX-License-Identifier: Apache-2.0
// The counters of a simulated MPPA, by name.
#ifndef DRIVER_COUNTERS_H
#define DRIVER_COUNTERS_H

#include "mppa_block.h"
#include "sim_driver.h"

sim_counter_names *mppa_counter_names_of(const void *block);
void mppa_counter_values(const void *block, const xtc_copies *copies, uint64_t *values);

#endif
