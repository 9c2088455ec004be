// SPDX-License-Identifier: Apache-2.0
// The parameters for opening an MPPA with Kalray's offloading library, which the runtime fills in.
#ifndef VENDOR_CONFIG_H
#define VENDOR_CONFIG_H

#include <stdint.h>

#define VENDOR_MAX_CLUSTERS 5

typedef struct {
    uint64_t nbytes;                // of this structure
    const char *firmware;           // in the form that the library expects
    const char *const *environment; // alternating names and values, then NULL; "" unsets
    uint32_t clusters;
    uint32_t alignment; // of allocations
} vendor_config;

#endif
