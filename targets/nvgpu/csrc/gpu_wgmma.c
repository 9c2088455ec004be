// SPDX-License-Identifier: Apache-2.0
// Multiply-adds of a warpgroup from shared memory. The products of 16-bit, 8-bit and TF32 numbers are exact in
// float32, in which they are added. Of a TF32 operand the hardware reads the upper 19 bits of a float32, and of
// sums of 8-bit floats it keeps fewer bits. Matrix descriptors have the fields that the PTX ISA defines for
// wgmma: start address, leading and stride byte offsets in units of 16 bytes, and the swizzle in the last two
// bits.
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_access.h"
#include "gpu_numbers.h"
#include "sim_device.h"

#define GROUP 128 // threads
#define GROUPS (GPU_MAX_THREADS / GROUP)
#define ROWS 64
#define STEP_BYTES 32 // of a row of A, and of a column of B, in a step
#define COLUMNS 256   // the most
#define STEPS 8       // the most of a call
#define INNER (STEPS * STEP_BYTES) // the largest K extent of a call
#define READINGS 1024 // the most matrices that a warpgroup has read and not waited for
#define CHUNK_BYTES 16
#define CHUNK 8 // elements of 16 bits
#define TF32_UNREAD 13 // bits of a float32 that TF32 ignores

enum { F16, BF16, E4M3, E5M2, TF32, S8, U8, KINDS }; // of operands

// A matrix that a multiplication has read: `outer` rows of A, or columns of B.
typedef struct {
    uint64_t descriptor, sum;
    uint32_t outer, group, nbytes; // of an element
    bool transposed;               // the outer dimension is contiguous in memory
} reading;

typedef struct {
    uint32_t arrived, waited, reading_count;
    const cuda_wgmma_operands *operands[GROUP];
    float *sums[GROUP];
    reading readings[READINGS];
} warpgroup;

static warpgroup warpgroups[GROUPS];
static float a[ROWS][INNER], b[INNER][COLUMNS], c[ROWS][COLUMNS];

void gpu_warpgroups_begin(void)
{
    for (uint32_t i = 0; i < GROUPS; i++)
        warpgroups[i].arrived = warpgroups[i].waited = warpgroups[i].reading_count = 0;
    for (uint32_t i = 0; i < gpu_thread_count; i++)
        gpu_threads[i].multiply_group = gpu_threads[i].multiply_waits = 0;
}

static size_t used_bytes(const warpgroup *group)
{
    return offsetof(warpgroup, readings) + group->reading_count * sizeof *group->readings;
}

void *gpu_warpgroups_keep(void)
{
    size_t nbytes = 1;
    for (uint32_t i = 0; i < gpu_thread_count / GROUP; i++)
        nbytes += used_bytes(&warpgroups[i]);
    char *kept = malloc(nbytes), *at = kept;
    if (!kept)
        sim_give_up("no memory for a block that waits for others");
    for (uint32_t i = 0; i < gpu_thread_count / GROUP; at += used_bytes(&warpgroups[i++]))
        memcpy(at, &warpgroups[i], used_bytes(&warpgroups[i]));
    return kept;
}

void gpu_warpgroups_bring_back(void *kept)
{
    const char *at = kept;
    for (uint32_t i = 0; i < gpu_thread_count / GROUP; at += used_bytes(&warpgroups[i++])) {
        memcpy(&warpgroups[i], at, offsetof(warpgroup, readings));
        memcpy(&warpgroups[i], at, used_bytes(&warpgroups[i]));
    }
    free(kept);
}

static warpgroup *own(const char *what)
{
    gpu_require_thread(what);
    uint32_t number = gpu_running->number / GROUP;
    if ((number + 1) * GROUP > gpu_thread_count)
        sim_fault(0, "%s by the last %u threads of a block: warpgroups have %u", what,
                  gpu_thread_count % GROUP, GROUP);
    return &warpgroups[number];
}

static inline uint64_t field(uint64_t descriptor, uint32_t bit)
{
    return (descriptor >> bit & 0x3fff) << 4;
}

// The row length, in bytes, of the swizzle pattern.
static inline uint32_t row_bytes(uint64_t descriptor)
{
    static const uint32_t rows[] = {0, 128, 64, 32};
    uint32_t found = rows[descriptor >> 62];
    if (!found)
        sim_fault(0, "cuda_wgmma of a matrix that is not swizzled");
    return found;
}

static const char *memory; // of the block

// The chunk that begins at element (outer, inner); only matrices of 16-bit elements are transposed.
static inline const void *chunk(uint64_t descriptor, bool transposed, uint32_t nbytes, uint32_t outer,
                                uint32_t inner)
{
    uint32_t row = row_bytes(descriptor), wide = row / 2;
    uint64_t leading = field(descriptor, 16), stride = field(descriptor, 32), offset;
    if (transposed)
        offset = outer / wide * leading + inner / 8 * stride + inner % 8 * row + outer % wide * 2;
    else
        offset = outer / 8 * stride + outer % 8 * row + inner * nbytes;
    uint64_t begin = (field(descriptor, 0) - (uintptr_t)memory) & 0x3ffff;
    uintptr_t address = (uintptr_t)memory + begin + offset;
    address ^= (address >> 7 & (row / 16 - 1)) << 4;
    return (const void *)address;
}

// Stop unless the matrix lies in shared memory and the writes of threads there are visible.
static void require_readable(const reading *matrix)
{
    uint32_t outer_step = matrix->transposed ? CHUNK : 1;
    uint32_t inner_step = matrix->transposed ? 1 : CHUNK_BYTES / matrix->nbytes;
    for (uint32_t outer = 0; outer < matrix->outer; outer += outer_step)
        for (uint32_t inner = 0; inner < STEP_BYTES / matrix->nbytes; inner += inner_step) {
            const void *address = chunk(matrix->descriptor, matrix->transposed, matrix->nbytes, outer, inner);
            gpu_check_shared(address, 16, "cuda_wgmma");
            gpu_proxy_require(address, 16, "cuda_wgmma");
        }
}

static uint64_t sum_of(const reading *matrix)
{
    uint64_t sum = 0, words[2];
    uint32_t outer_step = matrix->transposed ? CHUNK : 1;
    uint32_t inner_step = matrix->transposed ? 1 : CHUNK_BYTES / matrix->nbytes;
    for (uint32_t outer = 0; outer < matrix->outer; outer += outer_step)
        for (uint32_t inner = 0; inner < STEP_BYTES / matrix->nbytes; inner += inner_step) {
            memcpy(words, chunk(matrix->descriptor, matrix->transposed, matrix->nbytes, outer, inner), sizeof words);
            sum = (sum ^ words[0]) * 0x9e3779b97f4a7c15u + words[1];
        }
    return sum;
}

static void remember(warpgroup *group, uint64_t descriptor, uint32_t outer, uint32_t nbytes, bool transposed)
{
    if (group->reading_count == READINGS)
        sim_fault(0, "a warpgroup reads more than %u matrices before it waits", READINGS);
    reading matrix = {descriptor, 0, outer, gpu_running->multiply_group, nbytes, transposed};
    require_readable(&matrix);
    matrix.sum = sum_of(&matrix);
    group->readings[group->reading_count++] = matrix;
}

static inline uint32_t element_bytes(const cuda_wgmma_operands *given)
{
    return given->kind == TF32 ? 4 : given->kind >= E4M3 ? 1 : 2;
}

// Decode an 8-bit float with this number of mantissa bits (OCP "8-bit Floating Point Specification").
static float small_float(uint8_t code, uint32_t mantissa)
{
    int32_t bias = (1 << (6 - mantissa)) - 1, exponent = (code & 0x7f) >> mantissa;
    float rest = (float)(code & ((1u << mantissa) - 1)) / (float)(1u << mantissa), size;
    if (mantissa == 3 ? (code & 0x7f) == 0x7f : exponent == 31)
        size = mantissa == 2 && rest == 0 ? INFINITY : NAN;
    else
        size = exponent ? ldexpf(1 + rest, exponent - bias) : ldexpf(rest, 1 - bias);
    return code & 0x80 ? -size : size;
}

static void widen(uint32_t kind, const void *from, float *to, uint32_t count)
{
    static float values[2][256];
    if (kind < E4M3) {
        gpu_widen(kind == BF16, from, to, count);
        return;
    }
    if (kind == TF32) {
        const uint32_t *bits = from;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t kept = bits[i] & ~((1u << TF32_UNREAD) - 1);
            memcpy(&to[i], &kept, sizeof kept);
        }
        return;
    }
    if (kind == S8 || kind == U8) {
        for (uint32_t i = 0; i < count; i++)
            to[i] = kind == S8 ? (float)((const int8_t *)from)[i] : (float)((const uint8_t *)from)[i];
        return;
    }
    float *known = values[kind - E4M3];
    if (known[1] == 0) // the table is not filled yet
        for (uint32_t code = 0; code < 256; code++)
            known[code] = small_float((uint8_t)code, kind == E4M3 ? 3 : 2);
    for (uint32_t i = 0; i < count; i++)
        to[i] = known[((const uint8_t *)from)[i]];
}

static void read_a(const cuda_wgmma_operands *given, uint32_t step)
{
    uint64_t descriptor = given->a_tiles[step];
    bool transposed = given->transposed_a;
    uint32_t nbytes = element_bytes(given), inner_count = STEP_BYTES / nbytes, count = CHUNK_BYTES / nbytes;
    for (uint32_t outer = 0; outer < ROWS; outer += transposed ? CHUNK : 1)
        for (uint32_t inner = 0; inner < inner_count; inner += transposed ? 1 : count) {
            float wide[CHUNK_BYTES];
            widen(given->kind, chunk(descriptor, transposed, nbytes, outer, inner), wide, count);
            for (uint32_t i = 0; i < count; i++)
                if (transposed)
                    a[outer + i][step * inner_count + inner] = wide[i];
                else
                    a[outer][step * inner_count + inner + i] = wide[i];
        }
}

// A lane holds neighboring elements of rows g and g + 8, then those half a step to the right.
static void read_a_registers(const warpgroup *group, uint32_t step)
{
    uint32_t nbytes = element_bytes(group->operands[0]), packed = sizeof(uint32_t) / nbytes;
    for (uint32_t thread = 0; thread < GROUP; thread++) {
        const cuda_wgmma_operands *given = group->operands[thread];
        uint32_t row = thread / 32 * 16 + thread % 32 / 4;
        uint32_t column = step * STEP_BYTES / nbytes + thread % 4 * packed;
        float wide[4 * sizeof(uint32_t)];
        widen(given->kind, given->a + 4 * step, wide, 4 * packed);
        for (uint32_t i = 0; i < 4 * packed; i++)
            a[row + i / packed % 2 * 8][column + i / packed / 2 * 4 * packed + i % packed] = wide[i];
    }
}

static void read_b(const cuda_wgmma_operands *given, uint32_t step)
{
    uint64_t descriptor = given->b_tiles[step];
    bool transposed = given->transposed_b;
    uint32_t nbytes = element_bytes(given), inner_count = STEP_BYTES / nbytes, count = CHUNK_BYTES / nbytes;
    for (uint32_t outer = 0; outer < given->columns; outer += transposed ? CHUNK : 1)
        for (uint32_t inner = 0; inner < inner_count; inner += transposed ? 1 : count) {
            const void *from = chunk(descriptor, transposed, nbytes, outer, inner);
            float wide[CHUNK_BYTES];
            if (transposed) {
                widen(given->kind, from, &b[step * inner_count + inner][outer], CHUNK);
                continue;
            }
            widen(given->kind, from, wide, count);
            for (uint32_t i = 0; i < count; i++)
                b[step * inner_count + inner + i][outer] = wide[i];
        }
}

typedef float octet __attribute__((vector_size(32), aligned(4)));

#define ROWS_AT_ONCE 6

// Multiply `ROWS_AT_ONCE` rows and 16 columns at a time, whose accumulators stay in registers.
static inline __attribute__((always_inline)) void multiply(uint32_t columns, uint32_t inner)
{
    for (uint32_t j = 0; j < columns; j += 16)
        for (uint32_t i = 0; i < ROWS; i += ROWS_AT_ONCE) {
            uint32_t rows = ROWS - i < ROWS_AT_ONCE ? ROWS - i : ROWS_AT_ONCE;
            octet sums[ROWS_AT_ONCE][2];
            for (uint32_t r = 0; r < ROWS_AT_ONCE; r++) {
                const octet *from = (const octet *)&c[r < rows ? i + r : i][j];
                sums[r][0] = from[0];
                sums[r][1] = from[1];
            }
            for (uint32_t k = 0; k < inner; k++) {
                const octet *right = (const octet *)&b[k][j];
                for (uint32_t r = 0; r < ROWS_AT_ONCE; r++) {
                    float left = a[r < rows ? i + r : i][k];
                    sums[r][0] += right[0] * left;
                    sums[r][1] += right[1] * left;
                }
            }
            for (uint32_t r = 0; r < rows; r++)
                memcpy(&c[i + r][j], sums[r], sizeof sums[r]);
        }
}

#ifdef __x86_64__
__attribute__((target("avx2,fma"), optimize("O3"))) static void multiply_by_vectors(uint32_t columns,
                                                                                    uint32_t inner)
{
    multiply(columns, inner);
}

static bool has_vectors(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#else
#define multiply_by_vectors multiply

static bool has_vectors(void)
{
    return false;
}
#endif

static inline bool is_integer(const cuda_wgmma_operands *given)
{
    return given->kind == S8 || given->kind == U8;
}

// The sums of a call, of at most 256 products each, are exact in float32; the accumulators of a thread are
// int32.
static void add_integers(float *mine, const float *added, bool back)
{
    for (uint32_t i = 0; back && i < 2; i++) {
        uint32_t sum;
        memcpy(&sum, &mine[i], sizeof sum);
        sum += (uint32_t)(int32_t)added[i];
        memcpy(&mine[i], &sum, sizeof sum);
    }
}

static void move_sums(warpgroup *group, uint32_t columns, bool back)
{
    for (uint32_t thread = 0; thread < GROUP; thread++) {
        uint32_t row = thread / 32 * 16 + thread % 32 / 4, column = thread % 4 * 2;
        for (uint32_t i = 0; i < columns / 2; i += 2) {
            float *position = &c[row + i / 2 % 2 * 8][column + i / 4 * 8], *mine = &group->sums[thread][i];
            if (is_integer(group->operands[0]))
                add_integers(mine, position, back);
            else
                memcpy(back ? mine : position, back ? position : mine, 2 * sizeof *mine);
        }
    }
}

static void require_same(const warpgroup *group)
{
    const cuda_wgmma_operands *first = group->operands[0];
    for (uint32_t i = 1; i < GROUP; i++) {
        const cuda_wgmma_operands *other = group->operands[i];
        size_t nbytes = first->steps * sizeof *first->b_tiles;
        bool same = other->columns == first->columns && other->steps == first->steps &&
                    !memcmp(other->b_tiles, first->b_tiles, nbytes) &&
                    (first->a_in_registers || !memcmp(other->a_tiles, first->a_tiles, nbytes));
        if (!same)
            sim_fault(0, "cuda_wgmma of different matrices in the threads of a warpgroup");
    }
}

static void run(warpgroup *group)
{
    const cuda_wgmma_operands *given = group->operands[0];
    require_same(group);
    uint32_t nbytes = element_bytes(given), step_columns = STEP_BYTES / nbytes;
    memset(c, 0, sizeof c);
    move_sums(group, given->columns, false);
    for (uint32_t step = 0; step < given->steps; step++) {
        remember(group, given->b_tiles[step], given->columns, nbytes, given->transposed_b);
        read_b(given, step);
        if (given->a_in_registers) {
            read_a_registers(group, step);
            continue;
        }
        remember(group, given->a_tiles[step], ROWS, nbytes, given->transposed_a);
        read_a(given, step);
    }
    uint32_t columns = (given->columns + 15) / 16 * 16; // the results of padding columns are not read
    (has_vectors() ? multiply_by_vectors : multiply)(columns, given->steps * step_columns);
    move_sums(group, given->columns, true);
    enum gpu_event event = GPU_WGMMA_F16 + given->kind;
    gpu_count(event, given->steps);
    gpu_count(event + (GPU_WGMMA_F16_MACS - GPU_WGMMA_F16),
              (uint64_t)ROWS * given->columns * step_columns * given->steps);
}

void cuda_wgmma(const cuda_wgmma_operands *operands, float *d)
{
    warpgroup *group = own("cuda_wgmma");
    uint32_t mine = gpu_running->number % GROUP;
    if (operands->columns % 8 || !operands->columns || operands->columns > COLUMNS ||
        operands->steps > STEPS)
        sim_fault(0, "cuda_wgmma of %u columns in %u steps", operands->columns, operands->steps);
    if (operands->kind >= KINDS ||
        (operands->kind >= E4M3 && (operands->transposed_a || operands->transposed_b)))
        sim_fault(0, "cuda_wgmma of operands of 8 or 32 bits that are transposed");
    gpu_require_converged("cuda_wgmma");
    memory = gpu_shared_memory();
    group->operands[mine] = operands;
    group->sums[mine] = d;
    if (++group->arrived < GROUP) {
        gpu_wait(GPU_IN_WARPGROUP);
        return;
    }
    group->arrived = 0;
    run(group);
    for (uint32_t i = 0; i < GROUP; i++) {
        gpu_thread *thread = &gpu_threads[gpu_running->number / GROUP * GROUP + i];
        if (thread->state == GPU_IN_WARPGROUP)
            thread->state = GPU_READY;
    }
}

void cuda_wgmma_fence(void)
{
    own("wgmma.fence");
}

void cuda_wgmma_commit(void)
{
    own("wgmma.commit_group");
    gpu_running->multiply_group++;
}

// The matrices must be unchanged when the first thread waits for the multiplications that read them.
void cuda_wgmma_wait(uint32_t groups)
{
    warpgroup *group = own("wgmma.wait_group");
    if (++gpu_running->multiply_waits <= group->waited)
        return;
    group->waited = gpu_running->multiply_waits;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < group->reading_count; i++) {
        reading *matrix = &group->readings[i];
        if (matrix->group + groups >= gpu_running->multiply_group)
            group->readings[kept++] = *matrix;
        else if (sum_of(matrix) != matrix->sum)
            sim_fault(0, "shared memory that cuda_wgmma reads was written before wgmma.wait_group");
    }
    group->reading_count = kept;
}

void gpu_warpgroup_deadlock(const gpu_thread *thread)
{
    sim_fault_with_report(gpu_thread_report(),
                          "deadlock: cuda_wgmma waits for all threads of a warpgroup, of which %u have arrived",
                          warpgroups[thread->number / GROUP].arrived);
}
