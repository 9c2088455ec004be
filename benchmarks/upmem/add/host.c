/* SPDX-License-Identifier: Apache-2.0 */
#include "common.h"
#include "support.h"

int main(int argc, char **argv)
{
    uint32_t dpus = argument(argc, argv, 1, 4), elements = argument(argc, argv, 2, 1 << 16);
    uint32_t each = round_up((elements + dpus - 1) / dpus, (1 << BLOCK) / 4), all = each * dpus;
    int32_t *a = allocate(all * 4), *b = allocate(all * 4), *sums = allocate(all * 4);
    for (uint32_t i = 0; i < all; i++) {
        a[i] = (int32_t)next_random();
        b[i] = (int32_t)next_random();
    }
    arguments given = {each * 4};
    struct dpu_set_t set = prepare(dpus, "./dpu");
    DPU_ASSERT(dpu_broadcast_to(set, "DPU_ARGUMENTS", 0, &given, sizeof given, DPU_XFER_DEFAULT));
    move_parts(set, DPU_XFER_TO_DPU, DPU_MRAM_HEAP_POINTER_NAME, 0, a, each * 4);
    move_parts(set, DPU_XFER_TO_DPU, DPU_MRAM_HEAP_POINTER_NAME, each * 4, b, each * 4);
    DPU_ASSERT(dpu_launch(set, DPU_SYNCHRONOUS));
    move_parts(set, DPU_XFER_FROM_DPU, DPU_MRAM_HEAP_POINTER_NAME, each * 4, sums, each * 4);
    uint64_t wrong = 0;
    for (uint32_t i = 0; i < all; i++)
        wrong += (uint32_t)sums[i] != (uint32_t)a[i] + (uint32_t)b[i];
    DPU_ASSERT(dpu_free(set));
    free(a), free(b), free(sums);
    return verdict("add", wrong);
}
