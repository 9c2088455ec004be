/* SPDX-License-Identifier: Apache-2.0 */
#include "common.h"
#include "support.h"

int main(int argc, char **argv)
{
    uint32_t dpus = argument(argc, argv, 1, 4), rows = argument(argc, argv, 2, 512);
    uint32_t columns = argument(argc, argv, 3, 64);
    uint32_t each = round_up((rows + dpus - 1) / dpus, 2), all = each * dpus;
    uint32_t *matrix = allocate((size_t)all * columns * 4), *vector = allocate(columns * 4);
    uint32_t *result = allocate(all * 4);
    for (uint32_t i = 0; i < all * columns; i++)
        matrix[i] = next_random() % 50;
    for (uint32_t i = 0; i < columns; i++)
        vector[i] = next_random() % 50;
    arguments given = {each, columns, each};
    struct dpu_set_t set = prepare(dpus, "./dpu");
    DPU_ASSERT(dpu_broadcast_to(set, "DPU_ARGUMENTS", 0, &given, 8, DPU_XFER_DEFAULT));
    DPU_ASSERT(dpu_broadcast_to(set, "DPU_ARGUMENTS", 8, &given.most_rows, 4, DPU_XFER_DEFAULT));
    uint32_t at = each * columns * 4;
    move_parts(set, DPU_XFER_TO_DPU, DPU_MRAM_HEAP_POINTER_NAME, 0, matrix, at);
    DPU_ASSERT(dpu_broadcast_to(set, DPU_MRAM_HEAP_POINTER_NAME, at, vector, columns * 4,
                                DPU_XFER_DEFAULT));
    DPU_ASSERT(dpu_launch(set, DPU_SYNCHRONOUS));
    move_parts(set, DPU_XFER_FROM_DPU, DPU_MRAM_HEAP_POINTER_NAME, at + columns * 4, result,
               each * 4);
    uint64_t wrong = 0;
    for (uint32_t i = 0; i < rows; i++) {
        uint32_t sum = 0;
        for (uint32_t k = 0; k < columns; k++)
            sum += matrix[i * columns + k] * vector[k];
        wrong += result[i] != sum;
    }
    DPU_ASSERT(dpu_free(set));
    free(matrix), free(vector), free(result);
    return verdict("gemv", wrong);
}
