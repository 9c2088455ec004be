// SPDX-License-Identifier: Apache-2.0
// The options that the driver passes to the simulator.
#ifndef WSE_BLOCK_H
#define WSE_BLOCK_H

#include <stdint.h>

#define WSE_PATH 512

enum wse_counter { WSE_CYCLES, WSE_HOPS, WSE_DELIVERED, WSE_ELEMENTS, WSE_TASKS_RUN, WSE_COUNTERS };

typedef struct {
    uint32_t shuffled;
    uint64_t seed;
    uint64_t cycle_limit; // limit of one command
    char log[WSE_PATH], trace[WSE_PATH];
} wse_settings;

typedef struct {
    wse_settings settings;
    uint64_t counters[WSE_COUNTERS];
} wse_shared_block;

#endif
