/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts numbers into linked lists, whose nodes are blocks of one size, and adds up each list. */
#include <alloc.h>
#include <barrier.h>
#include <defs.h>
#include <mram.h>
#include <mutex_pool.h>
#include <stddef.h>

#include "common.h"

typedef struct node {
    struct node *next;
    uint32_t value;
} node;

__host arguments DPU_ARGUMENTS;
__host uint32_t DPU_SUMS[BUCKETS];
node *lists[BUCKETS];
fsb_allocator_t nodes;
BARRIER_INIT(start, NR_TASKLETS);
MUTEX_POOL_INIT(locks, 8);

static void insert(uint32_t value)
{
    node *added = fsb_get(nodes);
    uint32_t bucket = value % BUCKETS;
    added->value = value;
    mutex_pool_lock(&locks, bucket);
    added->next = lists[bucket];
    lists[bucket] = added;
    mutex_pool_unlock(&locks, bucket);
}

static uint32_t take_all(uint32_t bucket)
{
    uint32_t sum = 0;
    for (node *at = lists[bucket], *next; at; at = next) {
        next = at->next;
        sum += at->value;
        fsb_free(nodes, at);
    }
    return sum;
}

int main(void)
{
    if (me() == 0) {
        mem_reset();
        nodes = fsb_alloc(sizeof(node), DPU_ARGUMENTS.elements);
        for (int i = 0; i < BUCKETS; i++)
            lists[i] = NULL;
    }
    barrier_wait(&start);
    uint32_t base = (uint32_t)DPU_MRAM_HEAP_POINTER;
    for (uint32_t i = 2 * me(); i < DPU_ARGUMENTS.elements; i += 2 * NR_TASKLETS) {
        __dma_aligned uint32_t pair[2];
        mram_read((__mram_ptr void const *)(base + i * 4), pair, 8);
        insert(pair[0]);
        insert(pair[1]);
    }
    barrier_wait(&start);
    for (uint32_t bucket = me(); bucket < BUCKETS; bucket += NR_TASKLETS)
        DPU_SUMS[bucket] = take_all(bucket);
    return 0;
}
