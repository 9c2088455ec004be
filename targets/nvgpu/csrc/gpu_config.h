// SPDX-License-Identifier: Apache-2.0
// What opening a simulated GPU takes; the runtime fills it in.
#ifndef GPU_CONFIG_H
#define GPU_CONFIG_H

#include "gpu_block.h"

typedef struct {
    uint64_t nbytes;        // of this structure
    const char *executable; // the simulator
    uint64_t memory_address, memory_bytes;
    double timeout_s; // for one kernel
    gpu_machine machine;
} gpu_config;

#endif
