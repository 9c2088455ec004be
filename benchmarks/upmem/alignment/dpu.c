/* SPDX-License-Identifier: Apache-2.0 */
/* Scores of global alignments (Needleman and Wunsch) of pairs of sequences, one row at a time. */
#include <alloc.h>
#include <barrier.h>
#include <defs.h>
#include <mram.h>

#include "common.h"

__host arguments DPU_ARGUMENTS;
BARRIER_INIT(start, NR_TASKLETS);

static int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static int32_t score(const char *a, const char *b, int32_t *row)
{
    for (int k = 0; k <= LENGTH; k++)
        row[k] = k * GAP;
    for (int i = 1; i <= LENGTH; i++) {
        int32_t diagonal = row[0];
        row[0] = i * GAP;
        for (int k = 1; k <= LENGTH; k++) {
            int32_t here = diagonal + (a[i - 1] == b[k - 1] ? MATCH : MISMATCH);
            diagonal = row[k];
            row[k] = larger(here, larger(row[k], row[k - 1]) + GAP);
        }
    }
    return row[LENGTH];
}

int main(void)
{
    if (me() == 0)
        mem_reset();
    barrier_wait(&start);
    uint32_t base = (uint32_t)DPU_MRAM_HEAP_POINTER;
    uint32_t results = base + DPU_ARGUMENTS.pairs * 2 * LENGTH;
    char *pair = mem_alloc(2 * LENGTH);
    int32_t *row = mem_alloc((LENGTH + 2) * sizeof *row);
    for (uint32_t i = me(); i < DPU_ARGUMENTS.pairs; i += NR_TASKLETS) {
        __dma_aligned int64_t found;
        mram_read((__mram_ptr void const *)(base + i * 2 * LENGTH), pair, 2 * LENGTH);
        found = score(pair, pair + LENGTH, row);
        mram_write(&found, (__mram_ptr void *)(results + i * 8), 8);
    }
    return 0;
}
