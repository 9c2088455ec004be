// SPDX-License-Identifier: Apache-2.0
// Batches of mma.sync: fragments become rows of float64 once, for all steps that multiply them. Products
// are exact in float64, in which a step's are summed in order, and rounded once.
#include <string.h>

#include "gpu_numbers.h"
#include "gpu_sim.h"
#include "gpu_transpose.h"
#include "sim_device.h"

#define ROWS 16
#define COLUMNS 8
#define ROW_BYTES 32 // of A, and of a column of B
#define MAX_INNER 32
#define A_WORDS 4
#define B_WORDS 2
#define C_WORDS 4

typedef double columns __attribute__((vector_size(64))); // a row of B, or of sums
typedef enum { F16, BF16, TF32, S8 } type;

static double a[CUDA_MMA_BATCH][ROWS * MAX_INNER];
static columns b[CUDA_MMA_BATCH][MAX_INNER];
static uint32_t c[CUDA_MMA_BATCH][ROWS][COLUMNS]; // float32 or int32

static const struct {
    uint32_t kind, inner;
    enum gpu_event event;
} kinds[] = {
    [F16] = {CUDA_M16N8K16_F32_F16, 16, GPU_MMA_F16},
    [BF16] = {CUDA_M16N8K16_F32_BF16, 16, GPU_MMA_BF16},
    [TF32] = {CUDA_M16N8K8_F32_TF32, 8, GPU_MMA_TF32},
    [S8] = {CUDA_M16N8K32_S32_S8, 32, GPU_MMA_S8},
};

// Registers alternate between rows g and g + 8, then go on in the second half of rows: words of four
// lanes are 16 bytes of a row.
static void gather_a(uint32_t *const *lanes, uint32_t word, char rows[ROWS][ROW_BYTES])
{
    for (uint32_t row = 0; row < ROWS / 2; row++) {
        gpu_words words[4];
        for (uint32_t i = 0; i < 4; i++)
            memcpy(&words[i], lanes[row * 4 + i] + word, sizeof words[i]);
        gpu_transpose_words(words);
        for (uint32_t i = 0; i < 4; i++)
            memcpy(rows[row + i % 2 * 8] + i / 2 * 16, &words[i], sizeof words[i]);
    }
}

// Its columns as rows.
static void gather_b(uint32_t *const *lanes, uint32_t word, char rows[COLUMNS][ROW_BYTES])
{
    for (uint32_t lane = 0; lane < CUDA_WARP; lane++)
        for (uint32_t i = 0; i < B_WORDS; i++)
            memcpy(rows[lane / 4] + i * 16 + lane % 4 * 4, lanes[lane] + word + i, 4);
}

static void move_sums(uint32_t *const *lanes, uint32_t word, uint32_t sums[ROWS][COLUMNS], bool back)
{
    for (uint32_t lane = 0; lane < CUDA_WARP; lane++)
        for (uint32_t i = 0; i < 2; i++) {
            uint32_t *position = &sums[lane / 4 + i * 8][lane % 4 * 2], *own = lanes[lane] + word + 2 * i;
            memcpy(back ? own : position, back ? position : own, 8);
        }
}

#define INLINE static inline __attribute__((always_inline))

INLINE void widen(type factor, const char *from, double *to, uint32_t count)
{
    uint16_t half;
    uint32_t word;
    for (uint32_t i = 0; i < count; i++)
        if (factor == BF16) {
            memcpy(&half, from + 2 * i, sizeof half);
            to[i] = gpu_float_of_bits((uint32_t)half << 16);
        } else if (factor == TF32) { // the last 13 bits are not looked at
            memcpy(&word, from + 4 * i, sizeof word);
            to[i] = gpu_float_of_bits(word & 0xffffe000u);
        } else
            to[i] = ((const signed char *)from)[i];
}

// Numbers of float16, a multiple of 8 of them.
typedef void widen_halves(const char *from, double *to, uint32_t count);

INLINE void widen_all(type factor, const char *from, double *to, uint32_t count, widen_halves *halves)
{
    if (factor == F16)
        halves(from, to, count);
    else
        widen(factor, from, to, count);
}

INLINE void read_a(type factor, uint32_t *const *lanes, uint32_t word, double *to, widen_halves *halves)
{
    char rows[ROWS][ROW_BYTES];
    gather_a(lanes, word, rows);
    widen_all(factor, rows[0], to, ROWS * kinds[factor].inner, halves);
}

INLINE void read_b(type factor, uint32_t *const *lanes, uint32_t word, columns *to, widen_halves *halves)
{
    char rows[COLUMNS][ROW_BYTES];
    gather_b(lanes, word, rows);
    if (factor == F16 || factor == BF16) {
        for (uint32_t half = 0; half < 2; half++) {
            gpu_halves matrix[8];
            for (uint32_t i = 0; i < 8; i++)
                memcpy(&matrix[i], rows[i] + half * 16, sizeof matrix[i]);
            gpu_transpose_halves(matrix);
            widen_all(factor, (const char *)matrix, (double *)(to + 8 * half), 64, halves);
        }
        return;
    }
    double wide[COLUMNS * MAX_INNER];
    uint32_t inner = kinds[factor].inner;
    widen(factor, rows[0], wide, COLUMNS * inner);
    for (uint32_t k = 0; k < inner; k++)
        for (uint32_t column = 0; column < COLUMNS; column++)
            to[k][column] = wide[column * inner + k];
}

INLINE void add(type factor, uint32_t *to, const columns *products)
{
    float sums[COLUMNS];
    if (factor == S8) { // the upper bits of sums are lost
        for (uint32_t j = 0; j < COLUMNS; j++)
            to[j] += (uint32_t)(int32_t)(*products)[j];
        return;
    }
    memcpy(sums, to, sizeof sums);
    for (uint32_t j = 0; j < COLUMNS; j++)
        sums[j] = (float)(sums[j] + (*products)[j]);
    memcpy(to, sums, sizeof sums);
}

// `at_once` rows at a time, whose sums stay in registers.
INLINE void multiply(type factor, const double *left, const columns *right, uint32_t to[ROWS][COLUMNS],
                     uint32_t at_once)
{
    uint32_t inner = kinds[factor].inner;
    for (uint32_t i = 0; i < ROWS; i += at_once) {
        columns sums[ROWS];
        for (uint32_t r = 0; r < at_once; r++)
            sums[r] = (columns){0};
        for (uint32_t k = 0; k < inner; k++)
            for (uint32_t r = 0; r < at_once; r++)
                sums[r] += right[k] * left[(i + r) * inner + k];
        for (uint32_t r = 0; r < at_once; r++)
            add(factor, to[i + r], &sums[r]);
    }
}

INLINE void run_kind(type factor, const cuda_mma_steps *batch, uint32_t *const *lanes, uint32_t at_once,
                     widen_halves *halves)
{
    uint32_t first_c = A_WORDS * batch->a_count, first_b = first_c + C_WORDS * batch->c_count;
    for (uint32_t i = 0; i < batch->a_count; i++)
        read_a(factor, lanes, A_WORDS * i, a[i], halves);
    for (uint32_t i = 0; i < batch->b_count; i++)
        read_b(factor, lanes, first_b + B_WORDS * i, b[i], halves);
    for (uint32_t i = 0; i < batch->c_count; i++)
        move_sums(lanes, first_c + C_WORDS * i, c[i], false);
    for (uint32_t i = 0; i < batch->count; i++)
        multiply(factor, a[batch->steps[i].a], b[batch->steps[i].b], c[batch->steps[i].c], at_once);
    for (uint32_t i = 0; i < batch->c_count; i++)
        move_sums(lanes, first_c + C_WORDS * i, c[i], true);
}

INLINE void run(type factor, const cuda_mma_steps *batch, uint32_t *const *lanes, uint32_t at_once,
                widen_halves *halves)
{
    switch (factor) { // the loops of each are code of its own
    case F16:
        run_kind(F16, batch, lanes, at_once, halves);
        break;
    case BF16:
        run_kind(BF16, batch, lanes, at_once, halves);
        break;
    case TF32:
        run_kind(TF32, batch, lanes, at_once, halves);
        break;
    case S8:
        run_kind(S8, batch, lanes, at_once, halves);
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

typedef void run_batch(type factor, const cuda_mma_steps *batch, uint32_t *const *lanes);

static void run_anywhere(type factor, const cuda_mma_steps *batch, uint32_t *const *lanes)
{
    run(factor, batch, lanes, 2, widen_singly);
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

WITH(AVX2) void run_with_avx2(type factor, const cuda_mma_steps *batch, uint32_t *const *lanes)
{
    run(factor, batch, lanes, 4, widen_by_eights);
}

WITH(AVX512) void run_with_avx512(type factor, const cuda_mma_steps *batch, uint32_t *const *lanes)
{
    run(factor, batch, lanes, ROWS, widen_by_eights);
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

typedef struct {
    const cuda_mma_steps *code;
    uint32_t *words;
} batch;

static type factor_of(uint32_t kind)
{
    type factor = F16;
    while (factor < S8 && kinds[factor].kind != kind)
        factor++;
    return factor;
}

static void run_all(void *const *arguments, uint32_t lanes)
{
    static run_batch *chosen;
    const cuda_mma_steps *code = ((const batch *)arguments[0])->code;
    type factor = factor_of(code->kind);
    uint32_t *words[CUDA_WARP];
    (void)lanes;
    if (!chosen)
        chosen = fastest();
    for (uint32_t lane = 0; lane < CUDA_WARP; lane++)
        words[lane] = ((const batch *)arguments[lane])->words;
    chosen(factor, code, words);
    gpu_count(kinds[factor].event, code->count);
    gpu_count(kinds[factor].event + (GPU_MMA_F16_MACS - GPU_MMA_F16),
              (uint64_t)ROWS * COLUMNS * kinds[factor].inner * code->count);
}

void cuda_mma_batch(const cuda_mma_steps *code, uint32_t *words)
{
    static const gpu_collective collective = {"cuda_mma", true, run_all};
    batch own = {code, words};
    if (code->kind != kinds[factor_of(code->kind)].kind)
        sim_fault(0, "cuda_mma of the unknown kind %u", code->kind);
    if (code->a_count > CUDA_MMA_BATCH || code->b_count > CUDA_MMA_BATCH || code->c_count > CUDA_MMA_BATCH)
        sim_fault(0, "cuda_mma of more than %u fragments of an operand", CUDA_MMA_BATCH);
    gpu_run_collective(&collective, (uint32_t)(uintptr_t)code, CUDA_ALL_LANES, &own);
}
