/* SPDX-License-Identifier: Apache-2.0 */
/* The host program of running sums: a first launch computes the sum of each DPU's numbers, a second
 * one takes the sum of all numbers before them. */
#ifndef RUNNING_SUMS_HOST_H
#define RUNNING_SUMS_HOST_H

#include "support.h"

static int running_sums(int argc, char **argv, const char *name, int first, int second)
{
    uint32_t dpus = argument(argc, argv, 1, 4), elements = argument(argc, argv, 2, 1 << 14);
    uint32_t turn = NR_TASKLETS * (1 << BLOCK) / 8;
    uint32_t each = round_up((elements + dpus - 1) / dpus, turn), all = each * dpus;
    uint64_t *values = allocate(all * 8ul), *sums = allocate(all * 8ul), wrong = 0, sum = 0;
    for (uint32_t i = 0; i < elements; i++)
        values[i] = next_random();
    arguments *given = allocate(dpus * sizeof *given);
    uint64_t *of_dpus = allocate(dpus * 8);
    for (uint32_t i = 0; i < dpus; i++)
        given[i] = (arguments){each * 8, first, 0};
    struct dpu_set_t set = prepare(dpus, "./dpu");
    move_parts(set, DPU_XFER_TO_DPU, "DPU_ARGUMENTS", 0, given, sizeof *given);
    move_parts(set, DPU_XFER_TO_DPU, DPU_MRAM_HEAP_POINTER_NAME, 0, values, each * 8);
    DPU_ASSERT(dpu_launch(set, DPU_SYNCHRONOUS));
    move_parts(set, DPU_XFER_FROM_DPU, "DPU_SUM", 0, of_dpus, 8);
    for (uint32_t i = 0; i < dpus; i++) {
        given[i] = (arguments){each * 8, second, sum};
        sum += of_dpus[i];
    }
    move_parts(set, DPU_XFER_TO_DPU, "DPU_ARGUMENTS", 0, given, sizeof *given);
    DPU_ASSERT(dpu_launch(set, DPU_SYNCHRONOUS));
    move_parts(set, DPU_XFER_FROM_DPU, DPU_MRAM_HEAP_POINTER_NAME, 0, sums, each * 8);
    sum = 0;
    for (uint32_t i = 0; i < all; i++) {
        sum += values[i];
        wrong += sums[i] != sum;
    }
    DPU_ASSERT(dpu_free(set));
    free(values), free(sums), free(given), free(of_dpus);
    return verdict(name, wrong);
}

#endif
