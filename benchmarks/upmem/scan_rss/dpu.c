/* SPDX-License-Identifier: Apache-2.0 */
/* Running sums of 64-bit numbers, which are read twice and written once: a first launch adds up all
 * that a DPU has, a second scans it, and begins with the sum of the DPUs before. */
#include "common.h"
#include "running_sums.h"

uint64_t sums[NR_TASKLETS];

static void add_up(uint32_t base, uint32_t bytes, uint64_t *cache)
{
    uint64_t sum = 0;
    for (uint32_t at = me() * BLOCK_BYTES; at < bytes; at += NR_TASKLETS * BLOCK_BYTES) {
        mram_read((__mram_ptr void const *)(base + at), cache, BLOCK_BYTES);
#pragma unroll
        for (unsigned int i = 0; i < BLOCK_ELEMENTS; i++)
            sum += cache[i];
    }
    sums[me()] = sum;
    barrier_wait(&start);
    if (me() == 0) {
        for (unsigned int tasklet = 1; tasklet < NR_TASKLETS; tasklet++)
            sum += sums[tasklet];
        DPU_SUM = sum;
    }
}

int main(void)
{
    if (me() == 0) {
        mem_reset();
        total = DPU_ARGUMENTS.before;
    }
    barrier_wait(&start);
    uint32_t bytes = DPU_ARGUMENTS.bytes, base = (uint32_t)DPU_MRAM_HEAP_POINTER;
    uint64_t *cache = mem_alloc(BLOCK_BYTES);
    if (DPU_ARGUMENTS.kernel == SUM)
        add_up(base, bytes, cache);
    else
        scan(base, bytes, cache);
    return 0;
}
