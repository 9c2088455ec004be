// SPDX-License-Identifier: Apache-2.0
// Allocations of the null device: a list of blocks of this process's memory.
#ifndef NULL_MEMORY_H
#define NULL_MEMORY_H

#include <pthread.h>

#include "xtc_driver.h"

typedef struct null_block {
    struct null_block *next;
    uint64_t nbytes;
    uint8_t *bytes;
} null_block;

typedef struct {
    pthread_mutex_t lock;
    null_block *blocks;
    uint64_t used, size;
} null_memory;

void null_memory_open(null_memory *memory, uint64_t size);
void null_memory_close(null_memory *memory);
// Allocates bytes, filled with poison, which exposes reads of unwritten memory.
int32_t null_memory_alloc(null_memory *memory, uint64_t nbytes, xtc_address *address);
int32_t null_memory_free(null_memory *memory, xtc_address address);
// The allocation that holds `nbytes` bytes from `address` on.
int32_t null_memory_find(null_memory *memory, xtc_address address, uint64_t nbytes,
                         xtc_address *start, uint64_t *size);

#endif
