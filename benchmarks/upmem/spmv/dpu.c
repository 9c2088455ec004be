/* SPDX-License-Identifier: Apache-2.0 */
/* A sparse matrix (compressed rows) times a vector: each tasklet has a range of rows and reads
 * their entries in sequence. */
#include <alloc.h>
#include <barrier.h>
#include <defs.h>
#include <mram.h>
#include <seqread.h>

#include "common.h"

__host arguments DPU_ARGUMENTS;
BARRIER_INIT(start, NR_TASKLETS);

static float value_at(uint32_t vector, uint32_t column)
{
    __dma_aligned float pair[2];
    mram_read((__mram_ptr void const *)(vector + column / 2 * 8), pair, 8);
    return pair[column % 2];
}

int main(void)
{
    if (me() == 0)
        mem_reset();
    barrier_wait(&start);
    uint32_t begins = (uint32_t)DPU_MRAM_HEAP_POINTER;
    uint32_t entries = begins + (DPU_ARGUMENTS.most_rows + 2) * 4;
    uint32_t vector = entries + DPU_ARGUMENTS.most_entries * 8;
    uint32_t result = vector + DPU_ARGUMENTS.columns * 4;
    uint32_t each = (DPU_ARGUMENTS.rows / 2 + NR_TASKLETS - 1) / NR_TASKLETS * 2;
    uint32_t first = me() * each, end = first + each;
    end = end < DPU_ARGUMENTS.rows ? end : DPU_ARGUMENTS.rows;
    seqreader_buffer_t begin_cache = seqread_alloc(), entry_cache = seqread_alloc();
    seqreader_t begin_reader, entry_reader;
    if (first >= end)
        return 0;
    uint32_t *begin = seqread_init(begin_cache, (__mram_ptr void *)(begins + first * 4),
                                   &begin_reader);
    uint32_t at = *begin;
    entry *next = seqread_init(entry_cache, (__mram_ptr void *)(entries + at * 8), &entry_reader);
    __dma_aligned float sums[2];
    for (uint32_t row = first; row < end; row++) {
        begin = seqread_get(begin, sizeof *begin, &begin_reader);
        float sum = 0;
        for (; at < *begin; at++) {
            sum += next->value * value_at(vector, next->column);
            next = seqread_get(next, sizeof *next, &entry_reader);
        }
        sums[row % 2] = sum;
        if (row % 2)
            mram_write(sums, (__mram_ptr void *)(result + (row - 1) * 4), 8);
    }
    return 0;
}
