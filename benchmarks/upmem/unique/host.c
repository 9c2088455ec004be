/* SPDX-License-Identifier: Apache-2.0 */
#include "common.h"
#include "support.h"

int main(int argc, char **argv)
{
    uint32_t dpus = argument(argc, argv, 1, 4), elements = argument(argc, argv, 2, 1 << 14);
    uint32_t turn = NR_TASKLETS * (1 << BLOCK) / 8;
    uint32_t each = round_up((elements + dpus - 1) / dpus, turn), all = each * dpus;
    uint64_t *values = allocate(all * 8ul), *kept = allocate(all * 8ul);
    uint64_t *counts = allocate(dpus * 8), wrong = 0;
    for (uint32_t i = 0; i < all; i++)
        values[i] = i / 2;
    arguments given = {each * 8, 0};
    struct dpu_set_t set = prepare(dpus, "./dpu");
    DPU_ASSERT(dpu_broadcast_to(set, "DPU_ARGUMENTS", 0, &given, sizeof given, DPU_XFER_DEFAULT));
    move_parts(set, DPU_XFER_TO_DPU, DPU_MRAM_HEAP_POINTER_NAME, 0, values, each * 8);
    DPU_ASSERT(dpu_launch(set, DPU_SYNCHRONOUS));
    move_parts(set, DPU_XFER_FROM_DPU, "DPU_KEPT", 0, counts, 8);
    move_parts(set, DPU_XFER_FROM_DPU, DPU_MRAM_HEAP_POINTER_NAME, each * 8, kept, each * 8);
    for (uint32_t d = 0; d < dpus; d++) {
        uint32_t at = 0;
        for (uint32_t k = 0; k < each; k++) {
            uint32_t i = d * each + k;
            if (k % turn == 0 || values[i] != values[i - 1])
                wrong += kept[d * each + at++] != values[i];
        }
        wrong += counts[d] != at;
    }
    DPU_ASSERT(dpu_free(set));
    free(values), free(kept), free(counts);
    return verdict("unique", wrong);
}
