/* SPDX-License-Identifier: Apache-2.0 */
/* Transposes a matrix of small tiles, at MRAM addresses that no DMA can reach directly. */
#include <alloc.h>
#include <barrier.h>
#include <defs.h>
#include <mram.h>
#include <mram_unaligned.h>

#include "common.h"

__host arguments DPU_ARGUMENTS;
BARRIER_INIT(start, NR_TASKLETS);

int main(void)
{
    if (me() == 0)
        mem_reset();
    barrier_wait(&start);
    uint32_t rows = DPU_ARGUMENTS.rows, columns = DPU_ARGUMENTS.columns;
    uint32_t tile = DPU_ARGUMENTS.tile, from = (uint32_t)DPU_MRAM_HEAP_POINTER;
    uint32_t to = from + (rows * columns * tile + 7) / 8 * 8;
    uint8_t *buffer = mem_alloc(tile + 16);
    for (uint32_t i = me(); i < rows * columns; i += NR_TASKLETS) {
        uint32_t target = i % columns * rows + i / columns;
        void *found = mram_read_unaligned((__mram_ptr void const *)(from + i * tile), buffer, tile);
        mram_write_unaligned(found, (__mram_ptr void *)(to + target * tile), tile);
    }
    return 0;
}
