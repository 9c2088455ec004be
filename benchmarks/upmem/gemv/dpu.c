/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix times a vector: two rows of a tasklet make one write of 8 bytes. */
#include <alloc.h>
#include <barrier.h>
#include <defs.h>
#include <mram.h>

#include "common.h"

#define BLOCK_BYTES (1 << BLOCK)

__host arguments DPU_ARGUMENTS;
BARRIER_INIT(start, NR_TASKLETS);

static void dot(const uint32_t *a, const uint32_t *b, uint32_t count, uint32_t *sum)
{
    for (uint32_t i = 0; i < count; i++)
        *sum += a[i] * b[i];
}

static void dot_row(uint32_t row, uint32_t vector, uint32_t columns, uint32_t *a, uint32_t *b,
                    uint32_t *sum)
{
    uint32_t bytes = columns * 4;
    *sum = 0;
    for (uint32_t at = 0; at < bytes; at += BLOCK_BYTES) {
        uint32_t left = bytes - at, now = left < BLOCK_BYTES ? left : BLOCK_BYTES;
        mram_read((__mram_ptr void const *)(row + at), a, BLOCK_BYTES);
        mram_read((__mram_ptr void const *)(vector + at), b, BLOCK_BYTES);
        dot(a, b, now / 4, sum);
    }
}

int main(void)
{
    if (me() == 0)
        mem_reset();
    barrier_wait(&start);
    uint32_t columns = DPU_ARGUMENTS.columns, rows = DPU_ARGUMENTS.rows;
    uint32_t matrix = (uint32_t)DPU_MRAM_HEAP_POINTER;
    uint32_t vector = matrix + DPU_ARGUMENTS.most_rows * columns * 4;
    uint32_t result = vector + columns * 4;
    uint32_t *a = mem_alloc(BLOCK_BYTES), *b = mem_alloc(BLOCK_BYTES), *sums = mem_alloc(8);
    uint32_t each = (rows / 2 + NR_TASKLETS - 1) / NR_TASKLETS * 2;
    uint32_t first = me() * each, end = first + each < rows ? first + each : rows;
    for (uint32_t row = first; row < end; row += 2) {
        dot_row(matrix + row * columns * 4, vector, columns, a, b, &sums[0]);
        dot_row(matrix + (row + 1) * columns * 4, vector, columns, a, b, &sums[1]);
        mram_write(sums, (__mram_ptr void *)(result + row * 4), 8);
    }
    return 0;
}
