// SPDX-License-Identifier: Apache-2.0
// The configuration of a simulated GPU, which the runtime passes when it opens one.
#ifndef GPU_CONFIG_H
#define GPU_CONFIG_H

#include "gpu_block.h"
#include "sim_host.h"

typedef struct {
    uint64_t nbytes;        // of this structure
    const char *executable; // the simulator
    uint64_t memory_address, memory_bytes;
    double timeout_s; // of a kernel
    gpu_machine machine;
    sim_print *print; // receives the output of a launch; NULL: the standard output does
} gpu_config;

#endif
