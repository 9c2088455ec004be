// SPDX-License-Identifier: Apache-2.0
// What opening a simulated GPU takes; the runtime fills it in.
#ifndef GPU_CONFIG_H
#define GPU_CONFIG_H

#include "gpu_block.h"
#include "sim_host.h"

typedef struct {
    uint64_t nbytes;        // of this structure
    const char *executable; // the simulator
    uint64_t memory_address, memory_bytes;
    double timeout_s; // for one kernel
    gpu_machine machine;
    sim_print *print; // takes what a launch has printed; NULL: it goes to the standard output
} gpu_config;

#endif
