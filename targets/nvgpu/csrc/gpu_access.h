// SPDX-License-Identifier: Apache-2.0
// The checks of each memory access of the running thread.
#ifndef GPU_ACCESS_H
#define GPU_ACCESS_H

#include "gpu_sim.h"
#include "sim_device.h"

// gpu_memory.c
extern char *gpu_shared; // memory of the block
_Noreturn void gpu_stop_misaligned(const void *address, uint32_t nbytes, const char *what);
_Noreturn void gpu_stop_outside_shared(const void *address, uint32_t nbytes, const char *what);
void gpu_check_allocated(const void *address, uint32_t nbytes, const char *what);

// Stop unless the running thread may access these bytes.
static inline void gpu_check_global(const void *address, uint32_t nbytes, const char *what)
{
    if (!sim_device_is_in_granule((uintptr_t)address, nbytes))
        gpu_check_allocated(address, nbytes, what);
}

static inline void gpu_check_alignment(const void *address, uint32_t nbytes, const char *what)
{
    if (!nbytes || nbytes > 16 || nbytes & (nbytes - 1) || (uintptr_t)address & (nbytes - 1))
        gpu_stop_misaligned(address, nbytes, what);
}

static inline void gpu_check_shared(const void *address, uint32_t nbytes, const char *what)
{
    uint64_t offset = (uintptr_t)address - (uintptr_t)gpu_shared, all = gpu_shape.shared_bytes;
    if (offset >= all || nbytes > all - offset)
        gpu_stop_outside_shared(address, nbytes, what);
}

// gpu_races.c
extern bool gpu_watches_races;
extern uint32_t gpu_phase; // the epoch in which a barrier opened last
void gpu_races_touch(const void *address, uint32_t nbytes, bool writes);

// The running thread reads or writes these bytes; stops where that is a race.
static inline void gpu_touch(const void *address, uint32_t nbytes, bool writes)
{
    if (__builtin_expect(gpu_watches_races, false))
        gpu_races_touch(address, nbytes, writes);
}

// gpu_proxy.c: the last write to each 16 bytes of shared memory.
typedef struct {
    uint32_t writer; // the thread's number + 1; 0: none
    uint32_t fences; // proxy fences of the writer before the write
    uint32_t phase;
} gpu_written;

extern gpu_written gpu_proxy_chunks[];
extern uint32_t gpu_proxy_used; // no chunk from this one on has a writer

static inline uint32_t gpu_proxy_chunk(const void *shared)
{
    return (uint32_t)(((uintptr_t)shared - (uintptr_t)gpu_shared) / 16);
}

// The running thread has written up to 16 bytes, which lie in one chunk.
static inline void gpu_proxy_written(const void *shared)
{
    uint32_t chunk = gpu_proxy_chunk(shared);
    gpu_proxy_chunks[chunk] = (gpu_written){gpu_running->number + 1, gpu_running->fences, gpu_phase};
    if (gpu_proxy_used <= chunk)
        gpu_proxy_used = chunk + 1;
}

// gpu_banks.c
extern bool gpu_counts_banks;
void gpu_banks_note(uint32_t place, uint32_t nbytes, enum gpu_event event, const void *code);
void gpu_banks_note_rows(const char *const *rows, uint32_t matrices, enum gpu_event event);

// The running thread accesses shared memory at a location in the code; bank conflicts count as this event.
static inline void gpu_access_banks(const void *shared, uint32_t nbytes, enum gpu_event event,
                                    const void *code)
{
    if (__builtin_expect(gpu_counts_banks, false))
        gpu_banks_note((uint32_t)((uintptr_t)shared - (uintptr_t)gpu_shared), nbytes, event, code);
}

#define GPU_SECTOR 32 // bytes that global memory transfers at once

// The same for global memory. An aligned access lies in one sector.
static inline void gpu_access_sectors(const void *global, uint32_t nbytes, enum gpu_event event,
                                      const void *code)
{
    if (__builtin_expect(gpu_counts_banks, false))
        gpu_banks_note((uint32_t)((uintptr_t)global / GPU_SECTOR), nbytes, event, code);
}

// A warp accesses rows of matrices of 8 rows of 16 bytes.
static inline void gpu_access_rows(const char *const *rows, uint32_t matrices, enum gpu_event event)
{
    if (__builtin_expect(gpu_counts_banks, false))
        gpu_banks_note_rows(rows, matrices, event);
}

#endif
