// SPDX-License-Identifier: Apache-2.0
// Allocations in the memory of a simulated device, kept by the host.
#ifndef SIM_MEMORY_H
#define SIM_MEMORY_H

#include <pthread.h>
#include <stddef.h>

#include "sim_host.h"

typedef struct {
    uint64_t address, nbytes;
} sim_span;

typedef struct {
    uint8_t *bytes, *map; // as the host sees memory and map of allocations
    uint64_t address, nbytes;
    uint64_t next; // where the next allocation is tried: freed memory is used again late
    uint64_t used;
    sim_span *spans; // by address
    size_t count, room;
    pthread_mutex_t lock;
} sim_memory;

void sim_memory_open(sim_memory *memory, const sim_host *sim);
void sim_memory_close(sim_memory *memory);

// New bytes, aligned to SIM_GRANULE and filled with poison; a granule stays free behind them.
int32_t sim_memory_alloc(sim_memory *memory, uint64_t nbytes, xtc_address *address);
int32_t sim_memory_free(sim_memory *memory, xtc_address address);
// The allocation that holds `address`.
int32_t sim_memory_span(sim_memory *memory, xtc_address address, sim_span *span);
// The host's pointer to bytes that must be inside one allocation.
int32_t sim_memory_view(sim_memory *memory, xtc_address address, uint64_t nbytes, void **bytes);
uint64_t sim_memory_used(sim_memory *memory);

#endif
