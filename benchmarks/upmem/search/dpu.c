/* SPDX-License-Identifier: Apache-2.0 */
/* Binary search of 64-bit numbers in a sorted array in MRAM, which is read 16 bytes at a time until
 * the remaining range fits into a block. */
#include <alloc.h>
#include <barrier.h>
#include <defs.h>
#include <mram.h>

#include "common.h"

#define BLOCK_BYTES (1 << BLOCK)
#define BLOCK_ELEMENTS (BLOCK_BYTES / sizeof(int64_t))

__host arguments DPU_ARGUMENTS;
BARRIER_INIT(start, NR_TASKLETS);

static uint32_t in_block(const int64_t *block, uint32_t count, int64_t wanted)
{
    uint32_t low = 0;
    while (count) {
        uint32_t half = count / 2;
        if (block[low + half] < wanted) {
            low += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return low;
}

/* The first position whose value is not below `wanted`. */
static int64_t search(uint32_t base, uint32_t count, int64_t wanted, int64_t *block)
{
    uint32_t low = 0;
    __dma_aligned int64_t value;
    while (count > BLOCK_ELEMENTS) {
        uint32_t half = count / 2;
        mram_read((__mram_ptr void const *)(base + (low + half) * 8), &value, 8);
        if (value < wanted) {
            low += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    if (count == 0)
        return low;
    mram_read((__mram_ptr void const *)(base + low * 8), block, count * 8);
    return low + in_block(block, count, wanted);
}

int main(void)
{
    if (me() == 0)
        mem_reset();
    barrier_wait(&start);
    uint32_t values = (uint32_t)DPU_MRAM_HEAP_POINTER, count = DPU_ARGUMENTS.elements;
    uint32_t queries = values + count * 8, bytes = DPU_ARGUMENTS.queries * 8;
    int64_t *cache = mem_alloc(BLOCK_BYTES), *block = mem_alloc(BLOCK_BYTES);
    for (uint32_t at = me() * BLOCK_BYTES; at < bytes; at += NR_TASKLETS * BLOCK_BYTES) {
        mram_read((__mram_ptr void const *)(queries + at), cache, BLOCK_BYTES);
        for (unsigned int i = 0; i < BLOCK_ELEMENTS; i++)
            cache[i] = search(values, count, cache[i], block);
        mram_write(cache, (__mram_ptr void *)(queries + at), BLOCK_BYTES);
    }
    return 0;
}
