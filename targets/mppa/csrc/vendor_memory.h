// SPDX-License-Identifier: Apache-2.0
// Allocations made through Kalray's offloading library, which copies by physical addresses.
#ifndef VENDOR_MEMORY_H
#define VENDOR_MEMORY_H

#include <pthread.h>
#include <stdint.h>

#include "xtc_driver.h"

typedef struct {
    xtc_address address;
    uint64_t physical, nbytes;
} vendor_block;

typedef struct {
    vendor_block *blocks;
    uint64_t count, capacity, used;
    pthread_mutex_t lock;
} vendor_memory;

int32_t vendor_memory_add(vendor_memory *memory, vendor_block block);
// Removes the allocation that begins at `address`.
int32_t vendor_memory_remove(vendor_memory *memory, xtc_address address);
int32_t vendor_memory_span(vendor_memory *memory, xtc_address address, vendor_block *found);
// The physical address of a range of bytes, which must be inside one allocation.
int32_t vendor_memory_physical(vendor_memory *memory, xtc_address address, uint64_t nbytes,
                               uint64_t *physical);

#endif
