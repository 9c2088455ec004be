// SPDX-License-Identifier: Apache-2.0
// Matrix multiply-adds of a warp. Fragments have the layout that the PTX ISA defines for mma.sync: a lane has
// 32-bit registers with neighboring elements of a row of A and C, and of a column of B; 64-bit elements have
// a register each. Sums are computed in float64 and rounded once, whereas hardware rounds more often.
#include <string.h>

#include "gpu_numbers.h"
#include "gpu_sim.h"
#include "sim_device.h"

typedef enum { F16, BF16, TF32, S8, F64, F32, S32 } type;

static const struct {
    uint32_t rows, inner; // M and K; N is 8
    type operand, sum; // of A and B, and of C and D
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

// Round a number that is not negative to the nearest integer, ties to even.
static uint16_t rounded(double value)
{
    uint16_t whole = (uint16_t)value;
    double rest = value - whole;
    return whole + (rest > 0.5 || (rest == 0.5 && whole % 2));
}

// Round once; a conversion through float would round twice.
static uint16_t half_of_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
    double size = value < 0 ? -value : value;
    if (value != value)
        return 0x7e00;
    if (size >= 65520) // rounds to infinity
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
        return gpu_float_of_half(half);
    case BF16:
        memcpy(&half, position, sizeof half);
        return gpu_float_of_bits((uint32_t)half << 16);
    case TF32: // the last 13 bits are ignored
        memcpy(&word, position, sizeof word);
        return gpu_float_of_bits(word & 0xffffe000u);
    case S8:
        return *(const signed char *)position;
    case F32:
        memcpy(&word, position, sizeof word);
        return gpu_float_of_bits(word);
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

// The elements of A or B in a register.
static uint32_t packed_of(type operand)
{
    return type_bytes[operand] < 4 ? 4 / type_bytes[operand] : 1;
}

// Registers alternate between rows g and g + 8 of A, then continue to the right by the elements of 4 registers.
static void gather_a(void *const *arguments, cuda_mma_kind kind, double a[MAX_ROWS][MAX_INNER])
{
    type operand = kinds[kind].operand;
    uint32_t packed = packed_of(operand), halves = kinds[kind].rows / 8;
    uint32_t count = kinds[kind].rows * kinds[kind].inner / CUDA_WARP;
    for (uint32_t lane = 0; lane < CUDA_WARP; lane++)
        for (uint32_t i = 0; i < count; i++) {
            uint32_t word = i / packed, row = lane / 4 + word % halves * 8;
            uint32_t column = lane % 4 * packed + i % packed + word / halves * 4 * packed;
            const char *position = ((const fragments *)arguments[lane])->a + i * type_bytes[operand];
            a[row][column] = load(operand, position);
        }
}

static void gather_b(void *const *arguments, cuda_mma_kind kind, double b[MAX_INNER][COLUMNS])
{
    type operand = kinds[kind].operand;
    uint32_t packed = packed_of(operand), count = kinds[kind].inner * COLUMNS / CUDA_WARP;
    for (uint32_t lane = 0; lane < CUDA_WARP; lane++)
        for (uint32_t i = 0; i < count; i++) {
            uint32_t row = lane % 4 * packed + i % packed + i / packed * 4 * packed;
            const char *position = ((const fragments *)arguments[lane])->b + i * type_bytes[operand];
            b[row][lane / 4] = load(operand, position);
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
    return (bits + 0x1000u) & 0xffffe000u; // a carry increments the exponent, up to infinity
}

void cuda_mma(cuda_mma_kind kind, void *d, const void *a, const void *b, const void *c)
{
    static const gpu_collective collective = {"cuda_mma", true, multiply_add};
    if ((uint32_t)kind >= CUDA_MMA_COUNT)
        sim_fault(0, "cuda_mma of the unknown kind %u", (uint32_t)kind);
    fragments given = {d, a, b, c, kind};
    gpu_run_collective(&collective, kind, CUDA_ALL_LANES, &given);
}
