/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix times a vector: two rows of a tasklet form one write of 8 bytes. */
#include <alloc.h>
#include <barrier.h>
#include <defs.h>

#include "common.h"
#include "dot_row.h"

__host arguments DPU_ARGUMENTS;
BARRIER_INIT(start, NR_TASKLETS);

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
