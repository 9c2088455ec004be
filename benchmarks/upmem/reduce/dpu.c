/* SPDX-License-Identifier: Apache-2.0 */
/* The sum of a vector of 64-bit numbers; tasklet 0 adds the tasklets' sums. */
#include <alloc.h>
#include <barrier.h>
#include <defs.h>
#include <mram.h>

#include "common.h"

#define BLOCK_BYTES (1 << BLOCK)

__host arguments DPU_ARGUMENTS;
__host uint64_t DPU_SUM;
uint64_t sums[NR_TASKLETS];
BARRIER_INIT(start, NR_TASKLETS);

static uint64_t add_block(const uint64_t *block, unsigned int count)
{
    uint64_t sum = 0;
    for (unsigned int i = 0; i < count; i++)
        sum += block[i];
    return sum;
}

int main(void)
{
    unsigned int tasklet = me();
    if (tasklet == 0)
        mem_reset();
    barrier_wait(&start);
    uint32_t bytes = DPU_ARGUMENTS.bytes, base = (uint32_t)DPU_MRAM_HEAP_POINTER;
    uint64_t *cache = mem_alloc(BLOCK_BYTES);
    sums[tasklet] = 0;
    for (uint32_t at = tasklet * BLOCK_BYTES; at < bytes; at += NR_TASKLETS * BLOCK_BYTES) {
        uint32_t left = bytes - at, now = left < BLOCK_BYTES ? left : BLOCK_BYTES;
        mram_read((__mram_ptr void const *)(base + at), cache, now);
        sums[tasklet] += add_block(cache, now / sizeof(uint64_t));
    }
    barrier_wait(&start);
    if (tasklet == 0) {
        DPU_SUM = 0;
        for (int i = 0; i < NR_TASKLETS; i++)
            DPU_SUM += sums[i];
    }
    return 0;
}
