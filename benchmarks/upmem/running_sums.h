/* SPDX-License-Identifier: Apache-2.0 */
/* The common part of running sums of 64-bit numbers: each tasklet scans a block, and passes its sum
 * to the next tasklet. */
#ifndef RUNNING_SUMS_H
#define RUNNING_SUMS_H

#include <alloc.h>
#include <barrier.h>
#include <defs.h>
#include <handshake.h>
#include <mram.h>

#define BLOCK_BYTES (1 << BLOCK)
#define BLOCK_ELEMENTS (BLOCK_BYTES / sizeof(uint64_t))

__host arguments DPU_ARGUMENTS;
__host uint64_t DPU_SUM;
uint64_t handed_on[NR_TASKLETS];
uint64_t total;
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

/* The sum of all elements before this tasklet's block. */
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

/* Scan all blocks in place, from `total` on. */
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

#endif
