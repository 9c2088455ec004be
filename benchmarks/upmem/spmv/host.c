/* SPDX-License-Identifier: Apache-2.0 */
#include "common.h"
#include "support.h"

#define PER_ROW 7

int main(int argc, char **argv)
{
    uint32_t dpus = argument(argc, argv, 1, 3), rows = argument(argc, argv, 2, 600);
    uint32_t each = round_up((rows + dpus - 1) / dpus, 2), columns = 256;
    uint32_t *begins = allocate(dpus * (each + 2) * 4ul);
    entry *entries = allocate(dpus * each * PER_ROW * sizeof(entry));
    float *vector = allocate(columns * 4), *result = allocate(dpus * each * 4ul);
    uint64_t wrong = 0;
    for (uint32_t i = 0; i < columns; i++)
        vector[i] = (float)(next_random() % 16);
    for (uint32_t d = 0; d < dpus; d++) {
        uint32_t count = 0, *begin = begins + d * (each + 2);
        for (uint32_t row = 0; row < each; row++) {
            begin[row] = count;
            for (uint32_t k = next_random() % PER_ROW; k-- > 0;)
                entries[d * each * PER_ROW + count++] =
                    (entry){next_random() % columns, (float)(next_random() % 16)};
        }
        begin[each] = count;
    }
    arguments given = {each, each, each * PER_ROW, columns};
    struct dpu_set_t set = prepare(dpus, "./dpu");
    DPU_ASSERT(dpu_broadcast_to(set, "DPU_ARGUMENTS", 0, &given, sizeof given, DPU_XFER_DEFAULT));
    uint32_t at = (each + 2) * 4, behind = at + each * PER_ROW * sizeof(entry);
    move_parts(set, DPU_XFER_TO_DPU, DPU_MRAM_HEAP_POINTER_NAME, 0, begins, at);
    move_parts(set, DPU_XFER_TO_DPU, DPU_MRAM_HEAP_POINTER_NAME, at, entries, behind - at);
    DPU_ASSERT(dpu_broadcast_to(set, DPU_MRAM_HEAP_POINTER_NAME, behind, vector, columns * 4,
                                DPU_XFER_DEFAULT));
    DPU_ASSERT(dpu_launch(set, DPU_SYNCHRONOUS));
    move_parts(set, DPU_XFER_FROM_DPU, DPU_MRAM_HEAP_POINTER_NAME, behind + columns * 4, result,
               each * 4);
    for (uint32_t i = 0; i < dpus * each; i++) {
        const uint32_t *begin = begins + i / each * (each + 2) + i % each;
        float sum = 0;
        for (uint32_t k = begin[0]; k < begin[1]; k++) {
            entry one = entries[i / each * each * PER_ROW + k];
            sum += one.value * vector[one.column];
        }
        wrong += result[i] != sum;
    }
    DPU_ASSERT(dpu_free(set));
    free(begins), free(entries), free(vector), free(result);
    return verdict("spmv", wrong);
}
