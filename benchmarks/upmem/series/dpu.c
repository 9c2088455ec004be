/* SPDX-License-Identifier: Apache-2.0 */
/* The window of a series that is closest to a query, by the sum of squared differences. */
#include <alloc.h>
#include <barrier.h>
#include <defs.h>
#include <mram.h>
#include <mutex.h>
#include <string.h>

#include "common.h"

#define BLOCK_BYTES (1 << BLOCK)
#define BLOCK_ELEMENTS (BLOCK_BYTES / sizeof(int32_t))

__host arguments DPU_ARGUMENTS;
__host int32_t DPU_QUERY[WINDOW];
__host best DPU_BEST;
BARRIER_INIT(start, NR_TASKLETS);
MUTEX_INIT(best_mutex);

static uint32_t distance(const int32_t *a)
{
    uint32_t sum = 0;
    for (int i = 0; i < WINDOW; i++) {
        int32_t difference = a[i] - DPU_QUERY[i];
        sum += (uint32_t)(difference * difference);
    }
    return sum;
}

static void offer(best found)
{
    mutex_lock(best_mutex);
    if (found.distance < DPU_BEST.distance ||
        (found.distance == DPU_BEST.distance && found.position < DPU_BEST.position))
        DPU_BEST = found;
    mutex_unlock(best_mutex);
}

int main(void)
{
    if (me() == 0) {
        mem_reset();
        DPU_BEST.distance = DPU_BEST.position = UINT32_MAX;
    }
    barrier_wait(&start);
    uint32_t base = (uint32_t)DPU_MRAM_HEAP_POINTER, elements = DPU_ARGUMENTS.elements;
    int32_t *cache = mem_alloc(BLOCK_BYTES + WINDOW * sizeof *cache);
    best mine = {UINT32_MAX, UINT32_MAX};
    for (uint32_t at = me() * BLOCK_ELEMENTS; at < elements; at += NR_TASKLETS * BLOCK_ELEMENTS) {
        mram_read((__mram_ptr void const *)(base + at * 4), cache, BLOCK_BYTES);
        mram_read((__mram_ptr void const *)(base + at * 4 + BLOCK_BYTES), cache + BLOCK_ELEMENTS,
                  WINDOW * sizeof *cache);
        for (uint32_t i = 0; i < BLOCK_ELEMENTS; i++) {
            best found = {distance(cache + i), at + i};
            if (found.distance < mine.distance)
                mine = found;
        }
    }
    offer(mine);
    return 0;
}
