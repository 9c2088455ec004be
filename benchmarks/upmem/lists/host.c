/* SPDX-License-Identifier: Apache-2.0 */
#include "common.h"
#include "support.h"

int main(int argc, char **argv)
{
    uint32_t dpus = argument(argc, argv, 1, 2), each = round_up(argument(argc, argv, 2, 1000), 2);
    uint32_t *values = allocate(dpus * each * 4ul), *sums = allocate(dpus * BUCKETS * 4ul);
    uint64_t wrong = 0;
    for (uint32_t i = 0; i < dpus * each; i++)
        values[i] = next_random() % 10000;
    arguments given = {each, 0};
    struct dpu_set_t set = prepare(dpus, "./dpu");
    DPU_ASSERT(dpu_broadcast_to(set, "DPU_ARGUMENTS", 0, &given, sizeof given, DPU_XFER_DEFAULT));
    move_parts(set, DPU_XFER_TO_DPU, DPU_MRAM_HEAP_POINTER_NAME, 0, values, each * 4);
    DPU_ASSERT(dpu_launch(set, DPU_SYNCHRONOUS));
    move_parts(set, DPU_XFER_FROM_DPU, "DPU_SUMS", 0, sums, BUCKETS * 4);
    for (uint32_t i = 0; i < dpus * each; i++)
        sums[i / each * BUCKETS + values[i] % BUCKETS] -= values[i];
    for (uint32_t i = 0; i < dpus * BUCKETS; i++)
        wrong += sums[i] != 0;
    DPU_ASSERT(dpu_free(set));
    free(values), free(sums);
    return verdict("lists", wrong);
}
