/* SPDX-License-Identifier: Apache-2.0 */
#include "common.h"
#include "support.h"

int main(int argc, char **argv)
{
    uint32_t dpus = argument(argc, argv, 1, 3), elements = argument(argc, argv, 2, 9000);
    uint32_t each = round_up((elements + dpus - 1) / dpus, (1 << BLOCK) / 4), part = each + WINDOW;
    int32_t *series = allocate((dpus * each + WINDOW) * 4ul), *parts = allocate(dpus * part * 4ul);
    int32_t query[WINDOW];
    best *found = allocate(dpus * sizeof *found);
    uint64_t wrong = 0;
    for (uint32_t i = 0; i < dpus * each + WINDOW; i++)
        series[i] = (int32_t)(next_random() % 256);
    for (uint32_t i = 0; i < WINDOW; i++)
        query[i] = (int32_t)(next_random() % 256);
    for (uint32_t d = 0; d < dpus; d++) /* neighbors share a window */
        memcpy(parts + d * part, series + d * each, part * 4);
    arguments given = {each, 0};
    struct dpu_set_t set = prepare(dpus, "./dpu");
    DPU_ASSERT(dpu_broadcast_to(set, "DPU_ARGUMENTS", 0, &given, sizeof given, DPU_XFER_DEFAULT));
    DPU_ASSERT(dpu_broadcast_to(set, "DPU_QUERY", 0, query, sizeof query, DPU_XFER_DEFAULT));
    move_parts(set, DPU_XFER_TO_DPU, DPU_MRAM_HEAP_POINTER_NAME, 0, parts, part * 4);
    DPU_ASSERT(dpu_launch(set, DPU_SYNCHRONOUS));
    move_parts(set, DPU_XFER_FROM_DPU, "DPU_BEST", 0, found, sizeof *found);
    for (uint32_t d = 0; d < dpus; d++) {
        best expected = {UINT32_MAX, UINT32_MAX};
        for (uint32_t i = 0; i < each; i++) {
            uint32_t sum = 0;
            for (uint32_t k = 0; k < WINDOW; k++) {
                int32_t difference = series[d * each + i + k] - query[k];
                sum += (uint32_t)(difference * difference);
            }
            if (sum < expected.distance)
                expected = (best){sum, i};
        }
        wrong += found[d].distance != expected.distance || found[d].position != expected.position;
    }
    DPU_ASSERT(dpu_free(set));
    free(series), free(parts), free(found);
    return verdict("series", wrong);
}
