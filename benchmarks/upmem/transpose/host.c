/* SPDX-License-Identifier: Apache-2.0 */
#include "common.h"
#include "support.h"

int main(int argc, char **argv)
{
    uint32_t dpus = argument(argc, argv, 1, 2), rows = argument(argc, argv, 2, 12);
    uint32_t columns = argument(argc, argv, 3, 10), tile = argument(argc, argv, 4, 20);
    uint32_t nbytes = round_up(rows * columns * tile, 8);
    uint8_t *from = allocate(dpus * nbytes), *to = allocate(dpus * nbytes);
    uint64_t wrong = 0;
    for (uint32_t i = 0; i < dpus * nbytes; i++)
        from[i] = (uint8_t)next_random();
    arguments given = {rows, columns, tile, 0};
    struct dpu_set_t set = prepare(dpus, "./dpu");
    DPU_ASSERT(dpu_broadcast_to(set, "DPU_ARGUMENTS", 0, &given, sizeof given, DPU_XFER_DEFAULT));
    move_parts(set, DPU_XFER_TO_DPU, DPU_MRAM_HEAP_POINTER_NAME, 0, from, nbytes);
    DPU_ASSERT(dpu_launch(set, DPU_SYNCHRONOUS));
    move_parts(set, DPU_XFER_FROM_DPU, DPU_MRAM_HEAP_POINTER_NAME, nbytes, to, nbytes);
    for (uint32_t d = 0; d < dpus; d++)
        for (uint32_t i = 0; i < rows * columns; i++)
            wrong += memcmp(from + d * nbytes + i * tile,
                            to + d * nbytes + (i % columns * rows + i / columns) * tile, tile) != 0;
    DPU_ASSERT(dpu_free(set));
    free(from), free(to);
    return verdict("transpose", wrong);
}
