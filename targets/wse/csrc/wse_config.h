// SPDX-License-Identifier: Apache-2.0
// The parameters of the driver's `open`; `Config` of simulator.py.
#ifndef WSE_CONFIG_H
#define WSE_CONFIG_H

#include "wse_block.h"

typedef struct {
    uint64_t nbytes;
    const char *executable, *log, *trace;
    uint64_t memory_bytes;
    double timeout_s;
    uint32_t shuffled;
    uint64_t seed, cycle_limit;
} wse_config;

#endif
