/* SPDX-License-Identifier: Apache-2.0 */
#include "common.h"
#include "support.h"

int main(int argc, char **argv)
{
    uint32_t dpus = argument(argc, argv, 1, 4), elements = argument(argc, argv, 2, 1 << 16);
    uint32_t each = (elements + dpus - 1) / dpus, all = each * dpus;
    uint64_t *values = allocate(all * 8ul), *sums = allocate(dpus * 8), expected = 0, sum = 0;
    for (uint32_t i = 0; i < elements; i++) {
        values[i] = (uint64_t)next_random() << 32 | next_random();
        expected += values[i];
    }
    arguments given = {each * 8, 0};
    struct dpu_set_t set = prepare(dpus, "./dpu");
    DPU_ASSERT(dpu_broadcast_to(set, "DPU_ARGUMENTS", 0, &given, sizeof given, DPU_XFER_DEFAULT));
    move_parts(set, DPU_XFER_TO_DPU, DPU_MRAM_HEAP_POINTER_NAME, 0, values, each * 8);
    DPU_ASSERT(dpu_launch(set, DPU_SYNCHRONOUS));
    move_parts(set, DPU_XFER_FROM_DPU, "DPU_SUM", 0, sums, 8);
    for (uint32_t i = 0; i < dpus; i++)
        sum += sums[i];
    DPU_ASSERT(dpu_free(set));
    free(values), free(sums);
    return verdict("reduce", sum != expected);
}
