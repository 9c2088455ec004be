// SPDX-License-Identifier: Apache-2.0
// What opening an MPPA behind Kalray's offloading library takes; the runtime fills it in.
#ifndef VENDOR_CONFIG_H
#define VENDOR_CONFIG_H

#include <stdint.h>

#define VENDOR_MAX_CLUSTERS 5

typedef struct {
    uint64_t nbytes;                // of this structure
    const char *firmware;           // as the library looks for it
    const char *const *environment; // names and values by turns, then NULL; "" unsets
    uint32_t clusters;
    uint32_t alignment; // of allocations
} vendor_config;

#endif
