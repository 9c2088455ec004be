/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the first of equal consecutive 64-bit numbers; each tasklet learns its output offset from
 * the previous one. */
#include <alloc.h>
#include <barrier.h>
#include <defs.h>
#include <handshake.h>
#include <mram.h>

#include "common.h"

#define BLOCK_BYTES (1 << BLOCK)
#define BLOCK_ELEMENTS (BLOCK_BYTES / sizeof(uint64_t))

__host arguments DPU_ARGUMENTS;
__host uint64_t DPU_KEPT;
uint64_t lasts[NR_TASKLETS];
uint32_t counts[NR_TASKLETS];
uint32_t totals[2]; /* before the even and the odd rounds of blocks */
BARRIER_INIT(start, NR_TASKLETS);

static unsigned int keep(uint64_t *to, const uint64_t *from)
{
    unsigned int kept = 0;
    to[kept++] = from[0];
#pragma unroll
    for (unsigned int i = 1; i < BLOCK_ELEMENTS; i++)
        if (from[i] != from[i - 1])
            to[kept++] = from[i];
    return kept;
}

/* The number of results before this tasklet's; tells whether its first number is already known. */
static uint32_t hand_on(const uint64_t *kept, unsigned int count, unsigned int *skip)
{
    unsigned int tasklet = me();
    uint32_t before = 0;
    *skip = 0;
    if (tasklet != 0) {
        handshake_wait_for(tasklet - 1);
        before = counts[tasklet];
        *skip = kept[0] == lasts[tasklet];
    }
    if (tasklet < NR_TASKLETS - 1) {
        counts[tasklet + 1] = before + count - *skip;
        lasts[tasklet + 1] = kept[count - 1];
        handshake_notify();
    }
    return before;
}

int main(void)
{
    unsigned int tasklet = me();
    if (tasklet == 0) {
        mem_reset();
        totals[0] = 0;
    }
    barrier_wait(&start);
    uint32_t bytes = DPU_ARGUMENTS.bytes;
    uint32_t from = (uint32_t)DPU_MRAM_HEAP_POINTER, to = from + bytes;
    uint64_t *cache = mem_alloc(BLOCK_BYTES), *kept = mem_alloc(BLOCK_BYTES);
    unsigned int round = 0;
    for (uint32_t at = tasklet * BLOCK_BYTES; at < bytes; at += NR_TASKLETS * BLOCK_BYTES) {
        mram_read((__mram_ptr void const *)(from + at), cache, BLOCK_BYTES);
        unsigned int count = keep(kept, cache);
        unsigned int skip;
        uint32_t before = hand_on(kept, count, &skip) + totals[round & 1];
        count -= skip;
        if (count)
            mram_write(kept + skip, (__mram_ptr void *)(to + before * 8), count * 8);
        round++;
        if (tasklet == NR_TASKLETS - 1)
            DPU_KEPT = totals[round & 1] = before + count;
        barrier_wait(&start);
    }
    return 0;
}
