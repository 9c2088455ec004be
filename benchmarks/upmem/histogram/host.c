/* SPDX-License-Identifier: Apache-2.0 */
#include "common.h"
#include "support.h"

int main(int argc, char **argv)
{
    uint32_t dpus = argument(argc, argv, 1, 4), elements = argument(argc, argv, 2, 1 << 16);
    uint32_t each = round_up((elements + dpus - 1) / dpus, 2), all = each * dpus;
    uint32_t *values = allocate(all * 4ul), *bins = allocate(dpus * BINS * 4);
    uint32_t expected[BINS] = {0};
    for (uint32_t i = 0; i < all; i++) {
        values[i] = next_random() % (1 << DEPTH);
        expected[values[i] * BINS >> DEPTH]++;
    }
    arguments given = {each * 4, BINS};
    struct dpu_set_t set = prepare(dpus, "./dpu");
    DPU_ASSERT(dpu_broadcast_to(set, "DPU_ARGUMENTS", 0, &given, sizeof given, DPU_XFER_DEFAULT));
    move_parts(set, DPU_XFER_TO_DPU, DPU_MRAM_HEAP_POINTER_NAME, 0, values, each * 4);
    DPU_ASSERT(dpu_launch(set, DPU_SYNCHRONOUS));
    move_parts(set, DPU_XFER_FROM_DPU, "DPU_BINS", 0, bins, BINS * 4);
    uint64_t wrong = 0;
    for (uint32_t bin = 0; bin < BINS; bin++) {
        for (uint32_t i = 0; i < dpus; i++)
            expected[bin] -= bins[i * BINS + bin];
        wrong += expected[bin] != 0;
    }
    DPU_ASSERT(dpu_free(set));
    free(values), free(bins);
    return verdict("histogram", wrong);
}
