// SPDX-License-Identifier: Apache-2.0
// The allocations of this driver; hw_foreign.c looks up those of other libraries.
#ifndef HW_MEMORY_H
#define HW_MEMORY_H

#include <pthread.h>
#include <stdint.h>

typedef struct {
    uint64_t address, nbytes;
} hw_span;

typedef struct {
    hw_span *spans;
    uint64_t count, capacity, used;
    pthread_mutex_t lock;
} hw_memory;

int32_t hw_memory_add(hw_memory *memory, hw_span span);
// Forget the allocation that begins at `address`.
int32_t hw_memory_remove(hw_memory *memory, uint64_t address);
// The allocation that contains all these bytes.
int32_t hw_memory_find(hw_memory *memory, uint64_t address, uint64_t nbytes, hw_span *found);

#endif
