/* SPDX-License-Identifier: Apache-2.0 */
/* Running sums of 64-bit numbers. A second launch adds the sum of the previous DPUs. */
#include "common.h"
#include "running_sums.h"

static void add(uint32_t base, uint32_t bytes, uint64_t *cache)
{
    for (uint32_t at = me() * BLOCK_BYTES; at < bytes; at += NR_TASKLETS * BLOCK_BYTES) {
        mram_read((__mram_ptr void const *)(base + at), cache, BLOCK_BYTES);
        add_to_block(cache, DPU_ARGUMENTS.before);
        mram_write(cache, (__mram_ptr void *)(base + at), BLOCK_BYTES);
    }
}

int main(void)
{
    if (me() == 0) {
        mem_reset();
        total = 0;
    }
    barrier_wait(&start);
    uint32_t bytes = DPU_ARGUMENTS.bytes, base = (uint32_t)DPU_MRAM_HEAP_POINTER;
    uint64_t *cache = mem_alloc(BLOCK_BYTES);
    if (DPU_ARGUMENTS.kernel == SCAN)
        scan(base, bytes, cache);
    else
        add(base, bytes, cache);
    if (me() == 0 && DPU_ARGUMENTS.kernel == SCAN)
        DPU_SUM = total;
    return 0;
}
