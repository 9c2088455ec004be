/* SPDX-License-Identifier: Apache-2.0 */
#include "common.h"
#include "support.h"

static int64_t score(const char *a, const char *b)
{
    static int32_t table[LENGTH + 1][LENGTH + 1];
    for (int i = 0; i <= LENGTH; i++)
        for (int k = 0; k <= LENGTH; k++) {
            int32_t best = i ? table[i - 1][k] + GAP : k * GAP;
            if (k && (!i || table[i][k - 1] + GAP > best))
                best = table[i][k - 1] + GAP;
            if (i && k) {
                int32_t both = table[i - 1][k - 1] + (a[i - 1] == b[k - 1] ? MATCH : MISMATCH);
                best = both > best ? both : best;
            }
            table[i][k] = i || k ? best : 0;
        }
    return table[LENGTH][LENGTH];
}

int main(int argc, char **argv)
{
    uint32_t dpus = argument(argc, argv, 1, 3), each = argument(argc, argv, 2, 20);
    char *pairs = allocate(dpus * each * 2ul * LENGTH);
    int64_t *scores = allocate(dpus * each * 8ul);
    uint64_t wrong = 0;
    for (uint32_t i = 0; i < dpus * each * 2 * LENGTH; i++)
        pairs[i] = "ACGT"[next_random() % 4];
    arguments given = {each, 0};
    struct dpu_set_t set = prepare(dpus, "./dpu");
    DPU_ASSERT(dpu_broadcast_to(set, "DPU_ARGUMENTS", 0, &given, sizeof given, DPU_XFER_DEFAULT));
    move_parts(set, DPU_XFER_TO_DPU, DPU_MRAM_HEAP_POINTER_NAME, 0, pairs, each * 2 * LENGTH);
    DPU_ASSERT(dpu_launch(set, DPU_SYNCHRONOUS));
    move_parts(set, DPU_XFER_FROM_DPU, DPU_MRAM_HEAP_POINTER_NAME, each * 2 * LENGTH, scores,
               each * 8);
    for (uint32_t i = 0; i < dpus * each; i++)
        wrong += scores[i] != score(pairs + i * 2 * LENGTH, pairs + (i * 2 + 1) * LENGTH);
    DPU_ASSERT(dpu_free(set));
    free(pairs), free(scores);
    return verdict("alignment", wrong);
}
