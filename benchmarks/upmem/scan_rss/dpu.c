/* SPDX-License-Identifier: Apache-2.0 */
/* Running sums of 64-bit numbers, which are read twice and written once: a first launch adds up all
 * that a DPU has, a second scans it, and begins with the sum of the DPUs before. */
#include <alloc.h>
#include <barrier.h>
#include <defs.h>
#include <handshake.h>
#include <mram.h>

#include "common.h"

#define BLOCK_BYTES (1 << BLOCK)
#define BLOCK_ELEMENTS (BLOCK_BYTES / sizeof(uint64_t))

__host arguments DPU_ARGUMENTS;
__host uint64_t DPU_SUM;
uint64_t handed_on[NR_TASKLETS];
uint64_t total, sums[NR_TASKLETS];
BARRIER_INIT(start, NR_TASKLETS);

static uint64_t scan_block(uint64_t *block)
{
    uint64_t sum = 0;
#pragma unroll
    for (unsigned int i = 0; i < BLOCK_ELEMENTS; i++) {
        sum += block[i];
        block[i] = sum;
    }
    return sum;
}

/* The sum of what stands before this tasklet's block. */
static uint64_t hand_on(uint64_t sum)
{
    unsigned int tasklet = me();
    uint64_t before = 0;
    if (tasklet != 0) {
        handshake_wait_for(tasklet - 1);
        before = handed_on[tasklet];
    }
    if (tasklet < NR_TASKLETS - 1) {
        handed_on[tasklet + 1] = before + sum;
        handshake_notify();
    }
    return before;
}

static void add_to_block(uint64_t *block, uint64_t before)
{
#pragma unroll
    for (unsigned int i = 0; i < BLOCK_ELEMENTS; i++)
        block[i] += before;
}

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

static void scan(uint32_t base, uint32_t bytes, uint64_t *cache)
{
    unsigned int tasklet = me();
    for (uint32_t at = tasklet * BLOCK_BYTES; at < bytes; at += NR_TASKLETS * BLOCK_BYTES) {
        mram_read((__mram_ptr void const *)(base + at), cache, BLOCK_BYTES);
        uint64_t sum = scan_block(cache), before = hand_on(sum) + total;
        add_to_block(cache, before);
        mram_write(cache, (__mram_ptr void *)(base + at), BLOCK_BYTES);
        barrier_wait(&start);
        if (tasklet == NR_TASKLETS - 1)
            total = before + sum;
        barrier_wait(&start);
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
