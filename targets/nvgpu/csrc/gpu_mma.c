// SPDX-License-Identifier: Apache-2.0
// Matrix multiply-adds of a warp. Fragments are laid out as the PTX ISA says for mma.sync: in a
// fragment, a lane has registers of 32 bits with neighbouring elements of a row of A and C, and of a
// column of B; 64-bit elements have a register each. Sums are computed in float64 and rounded
// once, where hardware rounds in between.
#include <string.h>

#include "gpu_sim.h"
#include "sim_device.h"

typedef enum { F16, BF16, TF32, S8, F64, F32, S32 } type;

static const struct {
    uint32_t rows, inner; // M and K; N is 8
    type factor, sum;
    enum gpu_event event;
} kinds[] = {
    [CUDA_M16N8K16_F32_F16] = {16, 16, F16, F32, GPU_MMA_F16},
    [CUDA_M16N8K16_F16_F16] = {16, 16, F16, F16, GPU_MMA_F16},
    [CUDA_M16N8K16_F32_BF16] = {16, 16, BF16, F32, GPU_MMA_BF16},
    [CUDA_M16N8K8_F32_F16] = {16, 8, F16, F32, GPU_MMA_F16},
    [CUDA_M16N8K8_F16_F16] = {16, 8, F16, F16, GPU_MMA_F16},
    [CUDA_M16N8K8_F32_BF16] = {16, 8, BF16, F32, GPU_MMA_BF16},
    [CUDA_M16N8K8_F32_TF32] = {16, 8, TF32, F32, GPU_MMA_TF32},
    [CUDA_M16N8K4_F32_TF32] = {16, 4, TF32, F32, GPU_MMA_TF32},
    [CUDA_M16N8K32_S32_S8] = {16, 32, S8, S32, GPU_MMA_S8},
    [CUDA_M16N8K16_S32_S8] = {16, 16, S8, S32, GPU_MMA_S8},
    [CUDA_M8N8K4_F64_F64] = {8, 4, F64, F64, GPU_MMA_F64},
};

#define COLUMNS 8
#define MAX_ROWS 16
#define MAX_INNER 32

static const uint32_t type_bytes[] = {
    [F16] = 2, [BF16] = 2, [TF32] = 4, [S8] = 1, [F64] = 8, [F32] = 4, [S32] = 4,
};

static float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float float_of_half(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, rest = half & 0x7fffu;
    if (rest >= 0x7c00) // infinite, or no number
        return float_of_bits(sign | 0x7f800000u | (rest & 0x3ff) << 13);
    return float_of_bits(sign | rest << 13) * 0x1p112f; // moves the exponent's bias
}

// To the nearest whole number, to the even one of two; for numbers that are not negative.
static uint16_t rounded(double value)
{
    uint16_t whole = (uint16_t)value;
    double rest = value - whole;
    return whole + (rest > 0.5 || (rest == 0.5 && whole % 2));
}

// Rounded once, unlike by way of float.
static uint16_t half_of_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
    double size = value < 0 ? -value : value;
    if (value != value)
        return 0x7e00;
    if (size >= 65520) // what would be rounded to more than the largest one
        return sign | 0x7c00;
    if (size < 0x1p-14)
        return sign | rounded(size * 0x1p24);
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    double mantissa = (double)(bits & 0xfffffffffffff) * 0x1p-42; // below 1024
    return sign | (uint16_t)(((exponent + 15) << 10) + rounded(mantissa));
}

static double load(type kind, const char *position)
{
    uint16_t half;
    uint32_t word;
    double wide;
    int32_t whole;
    switch (kind) {
    case F16:
        memcpy(&half, position, sizeof half);
        return float_of_half(half);
    case BF16:
        memcpy(&half, position, sizeof half);
        return float_of_bits((uint32_t)half << 16);
    case TF32: // the last 13 bits are not looked at
        memcpy(&word, position, sizeof word);
        return float_of_bits(word & 0xffffe000u);
    case S8:
        return *(const signed char *)position;
    case F32:
        memcpy(&word, position, sizeof word);
        return float_of_bits(word);
    case S32:
        memcpy(&whole, position, sizeof whole);
        return whole;
    case F64:
        memcpy(&wide, position, sizeof wide);
        return wide;
    }
    return 0;
}

static void store(type kind, double value, char *position)
{
    float single = (float)value;
    uint32_t whole;
    uint16_t half;
    switch (kind) {
    case F16:
        half = half_of_double(value);
        memcpy(position, &half, sizeof half);
        break;
    case F32:
        memcpy(position, &single, sizeof single);
        break;
    case S32: // wraps around
        whole = (uint32_t)(int64_t)value;
        memcpy(position, &whole, sizeof whole);
        break;
    default:
        memcpy(position, &value, sizeof value);
    }
}

typedef struct {
    char *d;
    const char *a, *b, *c;
    cuda_mma_kind kind;
} fragments;

// Elements of a factor that share a register.
static uint32_t packed_of(type factor)
{
    return type_bytes[factor] < 4 ? 4 / type_bytes[factor] : 1;
}

// Registers alternate between rows g and g + 8 of A, then go on 4 registers' elements to the right.
static void gather_a(void *const *arguments, cuda_mma_kind kind, double a[MAX_ROWS][MAX_INNER])
{
    type factor = kinds[kind].factor;
    uint32_t packed = packed_of(factor), halves = kinds[kind].rows / 8;
    uint32_t count = kinds[kind].rows * kinds[kind].inner / CUDA_WARP;
    for (uint32_t lane = 0; lane < CUDA_WARP; lane++)
        for (uint32_t i = 0; i < count; i++) {
            uint32_t word = i / packed, row = lane / 4 + word % halves * 8;
            uint32_t column = lane % 4 * packed + i % packed + word / halves * 4 * packed;
            const char *position = ((const fragments *)arguments[lane])->a + i * type_bytes[factor];
            a[row][column] = load(factor, position);
        }
}

static void gather_b(void *const *arguments, cuda_mma_kind kind, double b[MAX_INNER][COLUMNS])
{
    type factor = kinds[kind].factor;
    uint32_t packed = packed_of(factor), count = kinds[kind].inner * COLUMNS / CUDA_WARP;
    for (uint32_t lane = 0; lane < CUDA_WARP; lane++)
        for (uint32_t i = 0; i < count; i++) {
            uint32_t row = lane % 4 * packed + i % packed + i / packed * 4 * packed;
            const char *position = ((const fragments *)arguments[lane])->b + i * type_bytes[factor];
            b[row][lane / 4] = load(factor, position);
        }
}

static void multiply_add(void *const *arguments, uint32_t lanes)
{
    static double a[MAX_ROWS][MAX_INNER], b[MAX_INNER][COLUMNS], sums[MAX_ROWS][COLUMNS];
    cuda_mma_kind kind = ((const fragments *)arguments[0])->kind;
    uint32_t rows = kinds[kind].rows, inner = kinds[kind].inner;
    (void)lanes;
    gather_a(arguments, kind, a);
    gather_b(arguments, kind, b);
    memset(sums, 0, sizeof sums);
    for (uint32_t i = 0; i < rows; i++)
        for (uint32_t k = 0; k < inner; k++)
            for (uint32_t j = 0; j < COLUMNS; j++)
                sums[i][j] += a[i][k] * b[k][j];
    type sum = kinds[kind].sum;
    for (uint32_t lane = 0; lane < CUDA_WARP; lane++)
        for (uint32_t i = 0; i < rows * COLUMNS / CUDA_WARP; i++) {
            const fragments *given = arguments[lane];
            uint32_t offset = i * type_bytes[sum];
            double product = sums[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2];
            store(sum, load(sum, given->c + offset) + product, given->d + offset);
        }
    gpu_count(kinds[kind].event, 1);
    gpu_count(kinds[kind].event + (GPU_MMA_F16_MACS - GPU_MMA_F16),
              (uint64_t)rows * COLUMNS * inner);
}

uint32_t cuda_to_tf32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (value != value)
        return 0x7fffffffu;
    return (bits + 0x1000u) & 0xffffe000u; // carries go into the exponent, and up to infinity
}

void cuda_mma(cuda_mma_kind kind, void *d, const void *a, const void *b, const void *c)
{
    static const gpu_collective collective = {"cuda_mma", true, multiply_add};
    if ((uint32_t)kind >= CUDA_MMA_COUNT)
        sim_fault(0, "cuda_mma of the unknown kind %u", (uint32_t)kind);
    fragments given = {d, a, b, c, kind};
    gpu_run_collective(&collective, kind, CUDA_ALL_LANES, &given);
}

typedef struct {
    uint32_t *words;
    cuda_mma_kind kind;
    uint32_t count;
} batch;

// The fragments of a warp, B with its columns as rows; 16-bit elements and wider ones.
typedef struct {
    uint16_t a[MAX_ROWS][16], b[COLUMNS][16];
} halves;

typedef struct {
    float a[MAX_ROWS][16], b[COLUMNS][16], c[MAX_ROWS][COLUMNS];
} floats;

// A register has two neighbours of a row of A, or of a column of B.
static void gather_halves(uint32_t *const *lanes, halves *to)
{
    for (uint32_t lane = 0; lane < CUDA_WARP; lane++) {
        const uint32_t *words = lanes[lane];
        uint32_t row = lane / 4, at = lane % 4 * 2;
        memcpy(&to->a[row][at], &words[0], 4);
        memcpy(&to->a[row + 8][at], &words[1], 4);
        memcpy(&to->a[row][at + 8], &words[2], 4);
        memcpy(&to->a[row + 8][at + 8], &words[3], 4);
        memcpy(&to->b[row][at], &words[4], 4);
        memcpy(&to->b[row][at + 8], &words[5], 4);
    }
}

// A register has one element, whose last 13 bits are not looked at.
static void gather_words(uint32_t *const *lanes, floats *to)
{
    for (uint32_t lane = 0; lane < CUDA_WARP; lane++) {
        const uint32_t *words = lanes[lane];
        uint32_t row = lane / 4, at = lane % 4;
        for (uint32_t word = 0; word < 4; word++)
            to->a[row + word % 2 * 8][at + word / 2 * 4] = float_of_bits(words[word] & 0xffffe000u);
        to->b[row][at] = float_of_bits(words[4] & 0xffffe000u);
        to->b[row][at + 4] = float_of_bits(words[5] & 0xffffe000u);
    }
}

static void gather_sums(uint32_t *const *lanes, floats *to)
{
    for (uint32_t lane = 0; lane < CUDA_WARP; lane++) {
        memcpy(&to->c[lane / 4][lane % 4 * 2], &lanes[lane][6], 8);
        memcpy(&to->c[lane / 4 + 8][lane % 4 * 2], &lanes[lane][8], 8);
    }
}

static void widen_brain(const uint16_t *from, float *to, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        to[i] = float_of_bits((uint32_t)from[i] << 16);
}

static void widen_half(const uint16_t *from, float *to, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        to[i] = float_of_half(from[i]);
}

typedef double quad __attribute__((vector_size(32)));

#define ROWS_AT_ONCE 4

// Four rows at a time, whose sums stay in registers. A product of two such factors is exact in
// float64.
static inline __attribute__((always_inline)) void multiply(floats *f, uint32_t inner)
{
    quad left[16], right[16];
    for (uint32_t k = 0; k < inner; k++) {
        left[k] = (quad){f->b[0][k], f->b[1][k], f->b[2][k], f->b[3][k]};
        right[k] = (quad){f->b[4][k], f->b[5][k], f->b[6][k], f->b[7][k]};
    }
    for (uint32_t i = 0; i < MAX_ROWS; i += ROWS_AT_ONCE) {
        quad sums[ROWS_AT_ONCE][2] = {{{0}}};
        for (uint32_t k = 0; k < inner; k++)
            for (uint32_t r = 0; r < ROWS_AT_ONCE; r++) {
                double factor = f->a[i + r][k];
                sums[r][0] += left[k] * factor;
                sums[r][1] += right[k] * factor;
            }
        for (uint32_t r = 0; r < ROWS_AT_ONCE; r++)
            for (uint32_t j = 0; j < COLUMNS; j++)
                f->c[i + r][j] = (float)(f->c[i + r][j] + sums[r][j / 4][j % 4]);
    }
}

#ifdef __x86_64__
#include <immintrin.h>

#define WITH_VECTORS __attribute__((target("avx2,fma,f16c"), optimize("O3")))

WITH_VECTORS static void multiply_by_vectors(floats *f, uint32_t inner)
{
    multiply(f, inner);
}

WITH_VECTORS static void widen_half_by_vectors(const uint16_t *from, float *to, uint32_t count)
{
    for (uint32_t i = 0; i < count; i += 8)
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + i))));
}

static bool has_vectors(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("f16c");
}
#else
#define multiply_by_vectors multiply
#define widen_half_by_vectors widen_half

static bool has_vectors(void)
{
    return false;
}
#endif

// Read the factors of one from the registers of all lanes.
static void gather(uint32_t *const *lanes, type factor, bool by_vectors, floats *to)
{
    static halves packed;
    gather_sums(lanes, to);
    if (factor == TF32) {
        gather_words(lanes, to);
        return;
    }
    gather_halves(lanes, &packed);
    void (*widen)(const uint16_t *, float *, uint32_t) =
        factor == BF16 ? widen_brain : by_vectors ? widen_half_by_vectors : widen_half;
    widen(&packed.a[0][0], &to->a[0][0], MAX_ROWS * 16);
    widen(&packed.b[0][0], &to->b[0][0], COLUMNS * 16);
}

void gpu_widen(bool bfloat, const uint16_t *from, float *to, uint32_t count)
{
    if (bfloat)
        widen_brain(from, to, count);
    else
        (has_vectors() ? widen_half_by_vectors : widen_half)(from, to, count);
}

// A register has four neighbours of a row of A, or of a column of B; sums lose their upper bits.
static void multiply_bytes(uint32_t *const *lanes)
{
    int8_t a[MAX_ROWS][MAX_INNER], b[COLUMNS][MAX_INNER];
    for (uint32_t lane = 0; lane < CUDA_WARP; lane++) {
        const uint32_t *words = lanes[lane];
        uint32_t row = lane / 4, at = lane % 4 * 4;
        memcpy(&a[row][at], &words[0], 4);
        memcpy(&a[row + 8][at], &words[1], 4);
        memcpy(&a[row][at + 16], &words[2], 4);
        memcpy(&a[row + 8][at + 16], &words[3], 4);
        memcpy(&b[row][at], &words[4], 4);
        memcpy(&b[row][at + 16], &words[5], 4);
    }
    for (uint32_t lane = 0; lane < CUDA_WARP; lane++)
        for (uint32_t i = 0; i < 4; i++) {
            const int8_t *row = a[lane / 4 + i / 2 * 8], *column = b[lane % 4 * 2 + i % 2];
            int32_t sum = 0; // at most 32 * 2^14
            for (uint32_t at = 0; at < MAX_INNER; at++)
                sum += row[at] * column[at];
            lanes[lane][6 + i] += (uint32_t)sum;
        }
}

static void multiply_batch(void *const *arguments, uint32_t lanes)
{
    static floats all;
    const batch *any = arguments[0];
    uint32_t inner = kinds[any->kind].inner, count = any->count;
    bool by_vectors = has_vectors();
    uint32_t *words[CUDA_WARP];
    (void)lanes;
    for (uint32_t lane = 0; lane < CUDA_WARP; lane++)
        words[lane] = ((const batch *)arguments[lane])->words;
    for (uint32_t number = 0; number < count; number++) {
        if (kinds[any->kind].factor == S8) {
            multiply_bytes(words);
            for (uint32_t lane = 0; lane < CUDA_WARP; lane++)
                words[lane] += CUDA_MMA_WORDS;
            continue;
        }
        gather(words, kinds[any->kind].factor, by_vectors, &all);
        (by_vectors ? multiply_by_vectors : multiply)(&all, inner);
        for (uint32_t lane = 0; lane < CUDA_WARP; lane++) {
            memcpy(&words[lane][6], &all.c[lane / 4][lane % 4 * 2], 8);
            memcpy(&words[lane][8], &all.c[lane / 4 + 8][lane % 4 * 2], 8);
            words[lane] += CUDA_MMA_WORDS;
        }
    }
    gpu_count(kinds[any->kind].event, count);
    gpu_count(kinds[any->kind].event + (GPU_MMA_F16_MACS - GPU_MMA_F16),
              (uint64_t)MAX_ROWS * COLUMNS * inner * count);
}

void cuda_mma_batch(cuda_mma_kind kind, uint32_t count, uint32_t *words)
{
    static const gpu_collective collective = {"cuda_mma", true, multiply_batch};
    if (kind != CUDA_M16N8K16_F32_F16 && kind != CUDA_M16N8K16_F32_BF16 &&
        kind != CUDA_M16N8K8_F32_TF32 && kind != CUDA_M16N8K32_S32_S8)
        sim_fault(0, "cuda_mma of the unknown kind %u", (uint32_t)kind);
    batch all = {words, kind, count};
    gpu_run_collective(&collective, (uint32_t)kind | count << 8, CUDA_ALL_LANES, &all);
}
