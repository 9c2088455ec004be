/* SPDX-License-Identifier: Apache-2.0 */
/* Adds two vectors: each tasklet takes every NR_TASKLETS-th block. */
#include <alloc.h>
#include <barrier.h>
#include <defs.h>
#include <mram.h>

#include "common.h"

#define BLOCK_BYTES (1 << BLOCK)

__host arguments DPU_ARGUMENTS;
BARRIER_INIT(start, NR_TASKLETS);

static void add_to(int32_t *sums, const int32_t *more, unsigned int count)
{
    for (unsigned int i = 0; i < count; i++)
        sums[i] += more[i];
}

int main(void)
{
    if (me() == 0)
        mem_reset();
    barrier_wait(&start);
    uint32_t bytes = DPU_ARGUMENTS.bytes;
    uint32_t a = (uint32_t)DPU_MRAM_HEAP_POINTER, b = a + bytes;
    int32_t *cache_a = mem_alloc(BLOCK_BYTES), *cache_b = mem_alloc(BLOCK_BYTES);
    for (uint32_t at = me() * BLOCK_BYTES; at < bytes; at += NR_TASKLETS * BLOCK_BYTES) {
        mram_read((__mram_ptr void const *)(a + at), cache_a, BLOCK_BYTES);
        mram_read((__mram_ptr void const *)(b + at), cache_b, BLOCK_BYTES);
        add_to(cache_b, cache_a, BLOCK_BYTES / sizeof(int32_t));
        mram_write(cache_b, (__mram_ptr void *)(b + at), BLOCK_BYTES);
    }
    return 0;
}
