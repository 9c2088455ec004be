// SPDX-License-Identifier: Apache-2.0
// Allocations in the memory of a simulated device, managed by the host.
#ifndef SIM_MEMORY_H
#define SIM_MEMORY_H

#include <pthread.h>
#include <stddef.h>

#include "sim_host.h"

typedef struct {
    uint64_t address, nbytes;
} sim_span;

typedef struct {
    uint8_t *bytes, *map; // the host's mappings of the memory and of the map of allocations
    uint64_t address, nbytes;
    uint64_t next; // where the next allocation is tried, to delay the reuse of freed memory
    uint64_t used;
    sim_span *spans; // sorted by address
    size_t count, capacity;
    pthread_mutex_t lock;
} sim_memory;

void sim_memory_open(sim_memory *memory, const sim_host *sim);
void sim_memory_close(sim_memory *memory);

// Allocate bytes aligned to SIM_GRANULE and filled with poison, followed by a guard granule.
int32_t sim_memory_alloc(sim_memory *memory, uint64_t nbytes, xtc_address *address);
int32_t sim_memory_free(sim_memory *memory, xtc_address address);
// The allocation that contains `address`.
int32_t sim_memory_span(sim_memory *memory, xtc_address address, sim_span *span);
// The host's pointer to bytes, which must be inside one allocation.
int32_t sim_memory_view(sim_memory *memory, xtc_address address, uint64_t nbytes, void **bytes);
uint64_t sim_memory_used(sim_memory *memory);

#endif
