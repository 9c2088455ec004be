// SPDX-License-Identifier: Apache-2.0
// Small transpositions in vector registers, between the rows of a matrix and the registers of lanes.
#ifndef GPU_TRANSPOSE_H
#define GPU_TRANSPOSE_H

#include <stdint.h>

typedef uint16_t gpu_halves __attribute__((vector_size(16)));
typedef uint32_t gpu_words __attribute__((vector_size(16)));
typedef uint64_t gpu_pairs __attribute__((vector_size(16)));

#if defined(__clang__) || __GNUC__ >= 12
#define GPU_SHUFFLE(type, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define GPU_SHUFFLE(type, a, b, ...) __builtin_shuffle(a, b, (type){__VA_ARGS__})
#endif

// Transpose 4 rows of 4 words.
static inline __attribute__((always_inline)) void gpu_transpose_words(gpu_words rows[4])
{
    gpu_words a = GPU_SHUFFLE(gpu_words, rows[0], rows[1], 0, 4, 1, 5);
    gpu_words b = GPU_SHUFFLE(gpu_words, rows[2], rows[3], 0, 4, 1, 5);
    gpu_words c = GPU_SHUFFLE(gpu_words, rows[0], rows[1], 2, 6, 3, 7);
    gpu_words d = GPU_SHUFFLE(gpu_words, rows[2], rows[3], 2, 6, 3, 7);
    rows[0] = (gpu_words)GPU_SHUFFLE(gpu_pairs, (gpu_pairs)a, (gpu_pairs)b, 0, 2);
    rows[1] = (gpu_words)GPU_SHUFFLE(gpu_pairs, (gpu_pairs)a, (gpu_pairs)b, 1, 3);
    rows[2] = (gpu_words)GPU_SHUFFLE(gpu_pairs, (gpu_pairs)c, (gpu_pairs)d, 0, 2);
    rows[3] = (gpu_words)GPU_SHUFFLE(gpu_pairs, (gpu_pairs)c, (gpu_pairs)d, 1, 3);
}

// Transpose 8 rows of 8 halves: pairs of rows are interleaved, then words are transposed as above.
static inline __attribute__((always_inline)) void gpu_transpose_halves(gpu_halves rows[8])
{
    gpu_words low[4], high[4];
    for (int i = 0; i < 4; i++) {
        gpu_halves a = rows[2 * i], b = rows[2 * i + 1];
        low[i] = (gpu_words)GPU_SHUFFLE(gpu_halves, a, b, 0, 8, 1, 9, 2, 10, 3, 11);
        high[i] = (gpu_words)GPU_SHUFFLE(gpu_halves, a, b, 4, 12, 5, 13, 6, 14, 7, 15);
    }
    gpu_transpose_words(low);
    gpu_transpose_words(high);
    for (int i = 0; i < 4; i++) {
        rows[i] = (gpu_halves)low[i];
        rows[4 + i] = (gpu_halves)high[i];
    }
}

#endif
