// SPDX-License-Identifier: Apache-2.0
// The parameters for opening a simulated MPPA, which the runtime fills in.
#ifndef MPPA_CONFIG_H
#define MPPA_CONFIG_H

#include "mppa_block.h"

typedef struct {
    uint64_t nbytes;        // of this structure
    const char *executable; // the simulator
    const char *trace_file; // NULL: no trace
    uint64_t ddr_address, ddr_bytes;
    double timeout_s; // for one kernel
    mppa_machine machine;
} mppa_config;

#endif
