// SPDX-License-Identifier: Apache-2.0
// The multiply-adds of a batch. A fragment is converted to float64 once for all steps that multiply it. A step
// adds its products, which are exact, in order in float64, and rounds once.
#include <string.h>

#include "gpu_batch.h"
#include "gpu_numbers.h"

#define MAX_INNER 32

// A row of B or of the accumulators, as vectors of each machine's width.
typedef double eight __attribute__((vector_size(64)));
typedef double four __attribute__((vector_size(32)));
typedef double two __attribute__((vector_size(16)));

static double a[CUDA_BATCH][GPU_ROWS * MAX_INNER];
static eight b[CUDA_BATCH][MAX_INNER];

static const uint32_t inner_of[] = {[GPU_F16] = 16, [GPU_BF16] = 16, [GPU_TF32] = 8, [GPU_S8] = 32};

uint32_t gpu_inner(gpu_operand operand)
{
    return inner_of[operand];
}

#define INLINE static inline __attribute__((always_inline))

INLINE void widen(gpu_operand operand, const char *from, double *to, uint32_t count)
{
    uint16_t half;
    uint32_t word;
    for (uint32_t i = 0; i < count; i++)
        if (operand == GPU_BF16) {
            memcpy(&half, from + 2 * i, sizeof half);
            to[i] = gpu_float_of_bits((uint32_t)half << 16);
        } else if (operand == GPU_TF32) { // the last 13 bits are ignored
            memcpy(&word, from + 4 * i, sizeof word);
            to[i] = gpu_float_of_bits(word & 0xffffe000u);
        } else
            to[i] = ((const signed char *)from)[i];
}

// Convert float16 numbers; their count is a multiple of 8.
typedef void widen_halves(const char *from, double *to, uint32_t count);

INLINE void widen_all(gpu_operand operand, const char *from, double *to, uint32_t count, widen_halves *halves)
{
    if (operand == GPU_F16)
        halves(from, to, count);
    else
        widen(operand, from, to, count);
}

INLINE void read_b(gpu_operand operand, const char *from, double *to, widen_halves *halves)
{
    uint32_t inner = inner_of[operand];
    double wide[GPU_COLUMNS * MAX_INNER];
    if (operand == GPU_F16 || operand == GPU_BF16) {
        widen_all(operand, from, to, GPU_COLUMNS * inner, halves);
        return;
    }
    widen(operand, from, wide, GPU_COLUMNS * inner);
    for (uint32_t k = 0; k < inner; k++)
        for (uint32_t column = 0; column < GPU_COLUMNS; column++)
            to[k * GPU_COLUMNS + column] = wide[column * inner + k];
}

INLINE void add(gpu_operand operand, uint32_t *to, const double *products)
{
    float sums[GPU_COLUMNS];
    if (operand == GPU_S8) { // accumulators wrap around
        for (uint32_t j = 0; j < GPU_COLUMNS; j++)
            to[j] += (uint32_t)(int32_t)products[j];
        return;
    }
    memcpy(sums, to, sizeof sums);
    for (uint32_t j = 0; j < GPU_COLUMNS; j++)
        sums[j] = (float)(sums[j] + products[j]);
    memcpy(to, sums, sizeof sums);
}

typedef void multiply_step(gpu_operand operand, const double *left, const double *right,
                           uint32_t to[GPU_ROWS][GPU_COLUMNS], uint32_t at_once);

// Multiply `at_once` rows at a time, whose accumulators stay in registers.
#define MULTIPLY(name, vector)                                                                     \
    INLINE void name(gpu_operand operand, const double *left, const double *right,                   \
                     uint32_t to[GPU_ROWS][GPU_COLUMNS], uint32_t at_once)                         \
    {                                                                                              \
        enum { parts = sizeof(eight) / sizeof(vector) };                                           \
        uint32_t inner = inner_of[operand];                                                         \
        for (uint32_t i = 0; i < GPU_ROWS; i += at_once) {                                         \
            vector sums[GPU_ROWS][parts];                                                          \
            for (uint32_t r = 0; r < at_once; r++)                                                 \
                for (uint32_t part = 0; part < parts; part++)                                      \
                    sums[r][part] = (vector){0};                                                   \
            for (uint32_t k = 0; k < inner; k++) {                                                 \
                const vector *row = (const vector *)(right + k * GPU_COLUMNS);                     \
                for (uint32_t r = 0; r < at_once; r++)                                             \
                    for (uint32_t part = 0; part < parts; part++)                                  \
                        sums[r][part] += row[part] * left[(i + r) * inner + k];                    \
            }                                                                                      \
            for (uint32_t r = 0; r < at_once; r++)                                                 \
                add(operand, to[i + r], (const double *)sums[r]);                                   \
        }                                                                                          \
    }

MULTIPLY(multiply_by_eights, eight)
MULTIPLY(multiply_by_fours, four)
MULTIPLY(multiply_by_twos, two)

INLINE void run_kind(gpu_operand operand, gpu_fragments *all, const cuda_matrix_batch *batch,
                     const gpu_step *steps, uint32_t at_once, multiply_step *multiply,
                     widen_halves *halves)
{
    for (uint32_t i = 0; i < batch->a; i++)
        widen_all(operand, all->a[i][0], a[i], GPU_ROWS * inner_of[operand], halves);
    for (uint32_t i = 0; i < batch->b; i++)
        read_b(operand, all->b[i], (double *)b[i], halves);
    for (uint32_t i = 0; i < batch->steps; i++)
        multiply(operand, a[steps[i].a], (const double *)b[steps[i].b], all->c[steps[i].c], at_once);
}

INLINE void run(gpu_operand operand, gpu_fragments *all, const cuda_matrix_batch *batch,
                const gpu_step *steps, uint32_t at_once, multiply_step *multiply,
                widen_halves *halves)
{
    switch (operand) { // the compiler specializes the loops for each type
    case GPU_F16:
        run_kind(GPU_F16, all, batch, steps, at_once, multiply, halves);
        break;
    case GPU_BF16:
        run_kind(GPU_BF16, all, batch, steps, at_once, multiply, halves);
        break;
    case GPU_TF32:
        run_kind(GPU_TF32, all, batch, steps, at_once, multiply, halves);
        break;
    case GPU_S8:
        run_kind(GPU_S8, all, batch, steps, at_once, multiply, halves);
    }
}

INLINE void widen_singly(const char *from, double *to, uint32_t count)
{
    uint16_t halves[8];
    float wide[8];
    for (uint32_t i = 0; i < count; i += 8) {
        memcpy(halves, from + 2 * i, sizeof halves);
        gpu_widen(false, halves, wide, 8);
        for (uint32_t j = 0; j < 8; j++)
            to[i + j] = wide[j];
    }
}

typedef void run_batch(gpu_operand operand, gpu_fragments *all, const cuda_matrix_batch *batch,
                       const gpu_step *steps);

__attribute__((optimize("O3"))) static void
run_anywhere(gpu_operand operand, gpu_fragments *all, const cuda_matrix_batch *batch,
             const gpu_step *steps)
{
    run(operand, all, batch, steps, 2, multiply_by_twos, widen_singly);
}

#ifdef __x86_64__
#include <immintrin.h>

#define WITH(features) __attribute__((target(features), optimize("O3"))) static
#define AVX2 "avx2,fma,f16c"
#define AVX512 "avx2,fma,f16c,avx512f,avx512vl,avx512dq"

WITH(AVX2) inline void widen_by_eights(const char *from, double *to, uint32_t count)
{
    for (uint32_t i = 0; i < count; i += 8) {
        __m256 wide = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + 2 * i)));
        _mm256_storeu_pd(to + i, _mm256_cvtps_pd(_mm256_castps256_ps128(wide)));
        _mm256_storeu_pd(to + i + 4, _mm256_cvtps_pd(_mm256_extractf128_ps(wide, 1)));
    }
}

WITH(AVX2) void run_with_avx2(gpu_operand operand, gpu_fragments *all, const cuda_matrix_batch *batch,
                              const gpu_step *steps)
{
    run(operand, all, batch, steps, 4, multiply_by_fours, widen_by_eights);
}

WITH(AVX512) void run_with_avx512(gpu_operand operand, gpu_fragments *all, const cuda_matrix_batch *batch,
                                  const gpu_step *steps)
{
    run(operand, all, batch, steps, GPU_ROWS, multiply_by_eights, widen_by_eights);
}

static run_batch *fastest(void)
{
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
        !__builtin_cpu_supports("f16c"))
        return run_anywhere;
    bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                __builtin_cpu_supports("avx512dq");
    return wide ? run_with_avx512 : run_with_avx2;
}
#else
static run_batch *fastest(void)
{
    return run_anywhere;
}
#endif

void gpu_multiply(gpu_operand operand, gpu_fragments *all, const cuda_matrix_batch *batch,
                  const gpu_step *steps)
{
    static run_batch *chosen;
    if (!chosen)
        chosen = fastest();
    chosen(operand, all, batch, steps);
}
