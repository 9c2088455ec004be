// SPDX-License-Identifier: Apache-2.0
// What opening a GPU takes; the runtime fills it in.
#ifndef HW_CONFIG_H
#define HW_CONFIG_H

#include <stdint.h>

typedef struct {
    uint64_t nbytes;     // of this structure
    const char *library; // NVIDIA's driver, as dlopen finds it
    const char *arch;    // what code is compiled for
    uint32_t number;     // of the GPU
    uint32_t major, minor; // compute capability that the code needs
    uint32_t exact;        // whether no other one will do
    double timeout_s;      // of a kernel
} hw_config;

#endif
