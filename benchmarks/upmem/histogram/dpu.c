/* SPDX-License-Identifier: Apache-2.0 */
/* One histogram per tasklet; the histograms are added at the end. */
#include <alloc.h>
#include <barrier.h>
#include <defs.h>
#include <mram.h>

#include "common.h"

#define BLOCK_BYTES (1 << BLOCK)

__host arguments DPU_ARGUMENTS;
__host uint32_t DPU_BINS[BINS];
uint32_t *own[NR_TASKLETS];
BARRIER_INIT(start, NR_TASKLETS);

static void count(uint32_t *bins, uint32_t count_of_bins, const uint32_t *values,
                  unsigned int n)
{
    for (unsigned int i = 0; i < n; i++)
        bins[values[i] * count_of_bins >> DEPTH]++;
}

int main(void)
{
    unsigned int tasklet = me();
    if (tasklet == 0)
        mem_reset();
    barrier_wait(&start);
    uint32_t bytes = DPU_ARGUMENTS.bytes, base = (uint32_t)DPU_MRAM_HEAP_POINTER;
    uint32_t *cache = mem_alloc(BLOCK_BYTES), *bins = mem_alloc(BINS * sizeof(uint32_t));
    own[tasklet] = bins;
    for (unsigned int i = 0; i < BINS; i++)
        bins[i] = 0;
    for (uint32_t at = tasklet * BLOCK_BYTES; at < bytes; at += NR_TASKLETS * BLOCK_BYTES) {
        uint32_t left = bytes - at, now = left < BLOCK_BYTES ? left : BLOCK_BYTES;
        mram_read((__mram_ptr void const *)(base + at), cache, now);
        count(bins, DPU_ARGUMENTS.bins, cache, now / sizeof(uint32_t));
    }
    barrier_wait(&start);
    for (unsigned int bin = tasklet; bin < BINS; bin += NR_TASKLETS) {
        uint32_t sum = 0;
        for (unsigned int i = 0; i < NR_TASKLETS; i++)
            sum += own[i][bin];
        DPU_BINS[bin] = sum;
    }
    return 0;
}
