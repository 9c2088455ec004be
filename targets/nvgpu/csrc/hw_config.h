// SPDX-License-Identifier: Apache-2.0
// The configuration of a GPU, which the runtime passes when it opens one.
#ifndef HW_CONFIG_H
#define HW_CONFIG_H

#include <stdint.h>

typedef struct {
    uint64_t nbytes;     // of this structure
    const char *library;   // of NVIDIA's driver, for dlopen
    const char *arch;      // for which code is compiled
    uint32_t number;       // of the GPU
    uint32_t major, minor; // compute capability that the code requires
    uint32_t exact;        // whether later ones do not run the code
    double timeout_s;      // of a kernel
} hw_config;

#endif
