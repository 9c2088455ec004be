/* SPDX-License-Identifier: Apache-2.0 */
/* A layer of a perceptron: a matrix times a vector, with ReLU. */
#include <alloc.h>
#include <barrier.h>
#include <defs.h>

#include "common.h"
#include "dot_row.h"

__host arguments DPU_ARGUMENTS;
BARRIER_INIT(start, NR_TASKLETS);

static int32_t rectified(uint32_t sum)
{
    return (int32_t)sum > 0 ? (int32_t)sum : 0;
}

int main(void)
{
    if (me() == 0)
        mem_reset();
    barrier_wait(&start);
    uint32_t rows = DPU_ARGUMENTS.rows, columns = DPU_ARGUMENTS.columns;
    uint32_t weights = (uint32_t)DPU_MRAM_HEAP_POINTER;
    uint32_t vector = weights + rows * columns * 4, result = vector + columns * 4;
    uint32_t *a = mem_alloc(BLOCK_BYTES), *b = mem_alloc(BLOCK_BYTES), sum;
    int32_t *outputs = mem_alloc(8);
    uint32_t each = (rows / 2 + NR_TASKLETS - 1) / NR_TASKLETS * 2;
    uint32_t first = me() * each, end = first + each < rows ? first + each : rows;
    for (uint32_t row = first; row < end; row += 2) {
        for (uint32_t i = 0; i < 2; i++) {
            dot_row(weights + (row + i) * columns * 4, vector, columns, a, b, &sum);
            outputs[i] = rectified(sum);
        }
        mram_write(outputs, (__mram_ptr void *)(result + row * 4), 8);
    }
    return 0;
}
