/* SPDX-License-Identifier: Apache-2.0 */
/* One histogram for all tasklets, guarded by mutexes. */
#include <alloc.h>
#include <barrier.h>
#include <defs.h>
#include <mram.h>
#include <mutex_pool.h>

#include "common.h"

#define BLOCK_BYTES (1 << BLOCK)

__host arguments DPU_ARGUMENTS;
__host uint32_t DPU_BINS[BINS];
BARRIER_INIT(start, NR_TASKLETS);
MUTEX_POOL_INIT(locks, 32);

static void count(uint32_t count_of_bins, const uint32_t *values, unsigned int n)
{
    for (unsigned int i = 0; i < n; i++) {
        uint32_t bin = values[i] * count_of_bins >> DEPTH;
        mutex_pool_lock(&locks, bin);
        DPU_BINS[bin]++;
        mutex_pool_unlock(&locks, bin);
    }
}

int main(void)
{
    unsigned int tasklet = me();
    if (tasklet == 0)
        mem_reset();
    for (unsigned int bin = tasklet; bin < BINS; bin += NR_TASKLETS)
        DPU_BINS[bin] = 0;
    barrier_wait(&start);
    uint32_t bytes = DPU_ARGUMENTS.bytes, base = (uint32_t)DPU_MRAM_HEAP_POINTER;
    uint32_t *cache = mem_alloc(BLOCK_BYTES);
    for (uint32_t at = tasklet * BLOCK_BYTES; at < bytes; at += NR_TASKLETS * BLOCK_BYTES) {
        uint32_t left = bytes - at, now = left < BLOCK_BYTES ? left : BLOCK_BYTES;
        mram_read((__mram_ptr void const *)(base + at), cache, now);
        count(DPU_ARGUMENTS.bins, cache, now / sizeof(uint32_t));
    }
    return 0;
}
