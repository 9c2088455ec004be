/* SPDX-License-Identifier: Apache-2.0 */
/* One level of a breadth-first search: the neighbors of this DPU's nodes in the frontier. */
#include <barrier.h>
#include <defs.h>
#include <mram.h>
#include <mutex.h>

#include "common.h"

#define MOST_NODES 4096

__host arguments DPU_ARGUMENTS;
__host uint64_t DPU_FRONTIER[MOST_NODES / 64];
__host uint64_t DPU_NEXT[MOST_NODES / 64];
MUTEX_INIT(next_mutex);
BARRIER_INIT(start, NR_TASKLETS);

int main(void)
{
    if (me() == 0)
        for (uint32_t i = 0; i < DPU_ARGUMENTS.nodes / 64; i++)
            DPU_NEXT[i] = 0;
    barrier_wait(&start);
    uint32_t edges = (uint32_t)DPU_MRAM_HEAP_POINTER;
    for (uint32_t i = me(); i < DPU_ARGUMENTS.count; i += NR_TASKLETS) {
        uint32_t node = DPU_ARGUMENTS.first + i;
        __dma_aligned uint32_t neighbors[DEGREE];
        if (!(DPU_FRONTIER[node / 64] >> node % 64 & 1))
            continue;
        mram_read((__mram_ptr void const *)(edges + i * sizeof neighbors), neighbors,
                  sizeof neighbors);
        for (int k = 0; k < DEGREE; k++) {
            mutex_lock(next_mutex);
            DPU_NEXT[neighbors[k] / 64] |= 1ull << neighbors[k] % 64;
            mutex_unlock(next_mutex);
        }
    }
    return 0;
}
