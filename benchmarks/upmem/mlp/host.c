/* SPDX-License-Identifier: Apache-2.0 */
#include "common.h"
#include "support.h"

static void layer(const int32_t *weights, const int32_t *inputs, uint32_t size, int32_t *outputs)
{
    for (uint32_t i = 0; i < size; i++) {
        int32_t sum = 0;
        for (uint32_t k = 0; k < size; k++)
            sum += weights[(size_t)i * size + k] * inputs[k];
        outputs[i] = sum > 0 ? sum : 0;
    }
}

int main(int argc, char **argv)
{
    uint32_t dpus = argument(argc, argv, 1, 4), size = argument(argc, argv, 2, 128);
    uint32_t rows = round_up((size + dpus - 1) / dpus, 2);
    size = rows * dpus;
    uint32_t vector = rows * size * 4, result = vector + size * 4;
    int32_t *weights = allocate((size_t)size * size * 4), *expected = allocate(size * 4);
    int32_t *values = allocate(size * 4), *inputs = allocate(size * 4);
    for (uint32_t i = 0; i < size; i++)
        values[i] = inputs[i] = next_random() % 8;
    arguments given = {rows, size};
    struct dpu_set_t set = prepare(dpus, "./dpu");
    DPU_ASSERT(dpu_broadcast_to(set, "DPU_ARGUMENTS", 0, &given, sizeof given, DPU_XFER_DEFAULT));
    for (uint32_t n = 0; n < LAYERS; n++) {
        for (uint32_t i = 0; i < size * size; i++)
            weights[i] = next_random() % 50 ? 0 : (int32_t)(next_random() % 8) - 3;
        move_parts(set, DPU_XFER_TO_DPU, DPU_MRAM_HEAP_POINTER_NAME, 0, weights, vector);
        DPU_ASSERT(dpu_broadcast_to(set, DPU_MRAM_HEAP_POINTER_NAME, vector, values, size * 4,
                                    DPU_XFER_DEFAULT));
        DPU_ASSERT(dpu_launch(set, DPU_SYNCHRONOUS));
        move_parts(set, DPU_XFER_FROM_DPU, DPU_MRAM_HEAP_POINTER_NAME, result, values, rows * 4);
        layer(weights, inputs, size, expected);
        memcpy(inputs, expected, size * 4);
    }
    uint64_t wrong = 0;
    for (uint32_t i = 0; i < size; i++)
        wrong += values[i] != expected[i];
    DPU_ASSERT(dpu_free(set));
    free(weights), free(expected), free(values), free(inputs);
    return verdict("mlp", wrong);
}
