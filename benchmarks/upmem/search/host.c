/* SPDX-License-Identifier: Apache-2.0 */
#include "common.h"
#include "support.h"

int main(int argc, char **argv)
{
    uint32_t dpus = argument(argc, argv, 1, 4), elements = argument(argc, argv, 2, 5000);
    uint32_t queries = round_up((argument(argc, argv, 3, 2048) + dpus - 1) / dpus, (1 << BLOCK) / 8);
    int64_t *values = allocate(elements * 8ul), *asked = allocate(dpus * queries * 8ul);
    int64_t *found = allocate(dpus * queries * 8ul);
    uint64_t wrong = 0;
    for (uint32_t i = 0; i < elements; i++)
        values[i] = 3 * (int64_t)i;
    for (uint32_t i = 0; i < dpus * queries; i++)
        asked[i] = next_random() % (3 * elements);
    arguments given = {elements, queries};
    struct dpu_set_t set = prepare(dpus, "./dpu");
    DPU_ASSERT(dpu_broadcast_to(set, "DPU_ARGUMENTS", 0, &given, sizeof given, DPU_XFER_DEFAULT));
    DPU_ASSERT(dpu_broadcast_to(set, DPU_MRAM_HEAP_POINTER_NAME, 0, values, elements * 8ul,
                                DPU_XFER_DEFAULT));
    move_parts(set, DPU_XFER_TO_DPU, DPU_MRAM_HEAP_POINTER_NAME, elements * 8, asked, queries * 8);
    DPU_ASSERT(dpu_launch(set, DPU_SYNCHRONOUS));
    move_parts(set, DPU_XFER_FROM_DPU, DPU_MRAM_HEAP_POINTER_NAME, elements * 8, found,
               queries * 8);
    for (uint32_t i = 0; i < dpus * queries; i++)
        wrong += found[i] != (asked[i] + 2) / 3;
    DPU_ASSERT(dpu_free(set));
    free(values), free(asked), free(found);
    return verdict("search", wrong);
}
