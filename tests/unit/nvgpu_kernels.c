// SPDX-License-Identifier: Apache-2.0
// Device code for the tests of the GPU's runtime. `name` is the kernel that starts a grid of
// `name_thread`. With a mutation defined, a kernel lacks a necessary part.
#include <stdlib.h>
#include <string.h>

#include "cuda_sim.h"

#ifndef MISSING_BARRIER
#define BARRIER() cuda_barrier()
#else
#define BARRIER() (void)0
#endif
#ifndef MISSING_COPY_WAIT
#define COPY_WAIT(groups) cuda_copy_async_wait(groups)
#else
#define COPY_WAIT(groups) (void)0
#endif
#ifndef MISSING_ARRIVE
#define ARRIVE(barrier, threads) cuda_barrier_arrive(barrier, threads)
#else
#define ARRIVE(barrier, threads) (void)0
#endif

#define GRID(x, y, z) {x, y, z}
#define KERNEL(name, grid, block, shared)                                                          \
    static void name##_thread(const uint64_t *arguments);                                          \
    void name(const uint64_t *arguments)                                                           \
    {                                                                                              \
        static const cuda_shape shape = {grid, block, shared, {1, 1, 1}, 0, 0};                    \
        cuda_launch(name##_thread, arguments, &shape);                                             \
    }                                                                                              \
    static void name##_thread(const uint64_t *arguments)

int not_a_function = 1;

static float read_float(const float *place)
{
    cuda_read(place, sizeof *place);
    return *place;
}

static void write_float(float *place, float value)
{
    cuda_write(place, sizeof *place);
    *place = value;
}

static uint32_t linear_thread(void)
{
    uint32_t row = cuda_thread_id(2) * cuda_block_size(1) + cuda_thread_id(1);
    return row * cuda_block_size(0) + cuda_thread_id(0);
}

KERNEL(empty, GRID(1, 1, 1), GRID(1, 1, 1), 0)
{
    (void)arguments;
}

// c = a + b for arguments[3] elements of 4 blocks of 64 threads.
KERNEL(add, GRID(4, 1, 1), GRID(64, 1, 1), 0)
{
    uint64_t i = cuda_block_id(0) * 64 + cuda_thread_id(0);
    if (i >= arguments[3])
        return;
    float sum = read_float((float *)arguments[0] + i) + read_float((float *)arguments[1] + i);
    write_float((float *)arguments[2] + i, sum);
}

// out[position] = the position as digits: block z, y, x, thread z, y, x.
KERNEL(places, GRID(2, 3, 2), GRID(4, 2, 3), 0)
{
    uint32_t block = (cuda_block_id(2) * 3 + cuda_block_id(1)) * 2 + cuda_block_id(0), place = 0;
    for (int dimension = 3; dimension--;)
        place = place * 10 + cuda_block_id((uint32_t)dimension);
    for (int dimension = 3; dimension--;)
        place = place * 10 + cuda_thread_id((uint32_t)dimension);
    uint32_t *out = (uint32_t *)arguments[0] + block * 24 + linear_thread();
    cuda_write(out, sizeof *out);
    *out = place + cuda_grid_size(1) * 1000000 + cuda_lane_id() * 10000000;
}

// out[i] = in[255 - i] of each of two blocks, through shared memory.
KERNEL(reverse, GRID(2, 1, 1), GRID(256, 1, 1), 256 * sizeof(float))
{
    uint32_t i = cuda_thread_id(0), first = cuda_block_id(0) * 256;
    float *shared = cuda_shared();
    write_float(shared + i, read_float((float *)arguments[0] + first + i));
    BARRIER();
    write_float((float *)arguments[1] + first + i, read_float(shared + 255 - i));
}

// Each thread adds 1 to the number of the preceding thread: correct only if threads run in the
// order of their numbers.
KERNEL(chain, GRID(1, 1, 1), GRID(64, 1, 1), 64 * sizeof(float))
{
    uint32_t i = cuda_thread_id(0);
    float *shared = cuda_shared();
    write_float(shared + i, i == 0 ? 1 : read_float(shared + i - 1) + 1);
    write_float((float *)arguments[0] + i, read_float(shared + i));
}

// order[0] counts, then the threads in the order in which they ran.
KERNEL(thread_order, GRID(1, 1, 1), GRID(96, 1, 1), 0)
{
    int32_t *order = (int32_t *)arguments[0];
    order[++order[0]] = (int32_t)cuda_thread_id(0);
}

KERNEL(block_order, GRID(6, 1, 1), GRID(1, 1, 1), 0)
{
    int32_t *order = (int32_t *)arguments[0];
    order[++order[0]] = (int32_t)cuda_block_id(0);
}

// out[block] = the first number in shared memory, then stores another one there.
KERNEL(shared_at_start, GRID(3, 1, 1), GRID(1, 1, 1), 64)
{
    volatile float *shared = cuda_shared();
    ((float *)arguments[0])[cuda_block_id(0)] = shared[0];
    shared[0] = 1;
}

// out[block] = sum of 128 numbers: warps by shuffles, then one warp the warps' sums.
static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float warp_sum(float value)
{
    for (uint32_t step = 16; step; step /= 2) {
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        value += float_of(cuda_shuffle(CUDA_ALL_LANES, CUDA_SHUFFLE_XOR, bits, step, 31, NULL));
    }
    return value;
}

KERNEL(reduce, GRID(5, 1, 1), GRID(128, 1, 1), 4 * sizeof(float))
{
    uint32_t i = cuda_thread_id(0);
    float *shared = cuda_shared();
    float sum = warp_sum(read_float((float *)arguments[0] + cuda_block_id(0) * 128 + i));
    if (i % 32 == 0)
        write_float(shared + i / 32, sum);
    BARRIER();
    if (i < 32) {
        sum = warp_sum(i < 4 ? read_float(shared + i) : 0);
        if (i == 0)
            write_float((float *)arguments[1] + cuda_block_id(0), sum);
    }
}

// out[lane] and out[32 + lane] = the result of a shuffle of the lane numbers, and whether it is in
// range;
// arguments 1 to 4 are mode, operand, clamp and mask.
KERNEL(shuffle, GRID(1, 1, 1), GRID(32, 1, 1), 0)
{
    uint32_t lane = cuda_lane_id(), mask = (uint32_t)arguments[4];
    if (!(mask >> lane & 1))
        return;
    bool in_range;
    uint32_t *out = (uint32_t *)arguments[0];
    out[lane] = cuda_shuffle(mask, (cuda_shuffle_mode)arguments[1], lane, (uint32_t)arguments[2],
                             (uint32_t)arguments[3], &in_range);
    out[32 + lane] = in_range;
}

// out[lane] = the odd lanes below 20, of those that have not ended.
KERNEL(ballot, GRID(1, 1, 1), GRID(32, 1, 1), 0)
{
    uint32_t lane = cuda_lane_id();
    if (lane >= 24)
        return;
    ((uint32_t *)arguments[0])[lane] = cuda_ballot(CUDA_ALL_LANES, lane % 2 && lane < 20);
}

// Warp 0 produces, warp 1 consumes: barriers 1 (full) and 2 (empty), four rounds.
KERNEL(pipeline, GRID(1, 1, 1), GRID(64, 1, 1), 32 * sizeof(float))
{
    float *shared = cuda_shared();
    uint32_t lane = cuda_lane_id();
    for (uint32_t round = 0; round < 4; round++) {
        if (cuda_thread_id(0) < 32) {
            if (round)
                cuda_barrier_sync(2, 64);
            write_float(shared + lane, read_float((float *)arguments[0] + round * 32 + lane));
            ARRIVE(1, 64);
        } else {
            cuda_barrier_sync(1, 64);
            float value = read_float(shared + 31 - lane);
            write_float((float *)arguments[1] + round * 32 + lane, value);
            if (round < 3)
                cuda_barrier_arrive(2, 64);
        }
    }
}

// out = in by asynchronous copies of 16 bytes, two groups in flight.
KERNEL(copy_async, GRID(1, 1, 1), GRID(32, 1, 1), 4 * 32 * 16)
{
    char *shared = cuda_shared();
    const char *in = (const char *)arguments[0];
    uint32_t offset = cuda_lane_id() * 16;
    for (uint32_t stage = 0; stage < 4; stage++) {
        cuda_copy_async(shared + stage * 512 + offset, in + stage * 512 + offset, 16,
                        stage == 3 ? 4 : 16);
        cuda_copy_async_commit();
    }
    for (uint32_t stage = 0; stage < 4; stage++) {
        COPY_WAIT(3 - stage);
        cuda_warp_sync(CUDA_ALL_LANES);
        uint32_t other = (31 - cuda_lane_id()) * 16;
        cuda_read(shared + stage * 512 + other, 16);
        cuda_write((char *)arguments[1] + stage * 512 + other, 16);
        memcpy((char *)arguments[1] + stage * 512 + other, shared + stage * 512 + other, 16);
    }
}

// out = in, 4 matrices of 8 by 8: loaded (arguments[2]: transposed) and stored (arguments[3]).
KERNEL(matrices, GRID(1, 1, 1), GRID(32, 1, 1), 2 * 512)
{
    char *shared = cuda_shared();
    uint32_t registers[4], offset = cuda_lane_id() * 16;
    memcpy(shared + offset, (char *)arguments[0] + offset, 16);
    cuda_load_matrix(registers, shared + offset, 4, arguments[2]);
    cuda_store_matrix(registers, shared + 512 + offset, 4, arguments[3]);
    cuda_warp_sync(CUDA_ALL_LANES);
    memcpy((char *)arguments[1] + offset, shared + 512 + offset, 16);
}

// One mma of kind arguments[4]; the registers of each lane are consecutive, with arguments 5 to 7
// bytes per lane of A, B and C.
KERNEL(mma, GRID(1, 1, 1), GRID(32, 1, 1), 0)
{
    uint64_t a[4], b[4], c[4], lane = cuda_lane_id();
    memcpy(a, (char *)arguments[0] + lane * arguments[5], arguments[5]);
    memcpy(b, (char *)arguments[1] + lane * arguments[6], arguments[6]);
    memcpy(c, (char *)arguments[2] + lane * arguments[7], arguments[7]);
    cuda_mma((cuda_mma_kind)arguments[4], c, a, b, c);
    memcpy((char *)arguments[3] + lane * arguments[7], c, arguments[7]);
}

// C = A B of f16 with sums in f32, 32 by 16 by 64 in one block of two warps: asynchronous copies to
// shared memory, ldmatrix, mma.
#define K 64

static void copy_rows(char *to, const char *from, uint32_t nbytes)
{
    for (uint32_t offset = cuda_thread_id(0) * 16; offset < nbytes; offset += 64 * 16)
        cuda_copy_async(to + offset, from + offset, 16, 16);
}

KERNEL(matmul_f16, GRID(1, 1, 1), GRID(64, 1, 1), (32 + 16) * K * 2)
{
    char *a = cuda_shared(), *b = a + 32 * K * 2;
    uint32_t lane = cuda_lane_id(), row = cuda_thread_id(0) / 32 * 16;
    float c[2][4] = {{0}};
    copy_rows(a, (char *)arguments[0], 32 * K * 2);
    copy_rows(b, (char *)arguments[1], K * 16 * 2);
    cuda_copy_async_commit();
    COPY_WAIT(0);
    BARRIER();
    for (uint32_t k = 0; k < K; k += 16) {
        uint32_t fa[4], fb[4];
        cuda_load_matrix(fa, a + ((row + lane % 16) * K + k + lane / 16 * 8) * 2, 4, false);
        cuda_load_matrix(fb, b + ((k + lane % 16) * 16 + lane / 16 * 8) * 2, 4, true);
        cuda_mma(CUDA_M16N8K16_F32_F16, c[0], fa, fb, c[0]);
        cuda_mma(CUDA_M16N8K16_F32_F16, c[1], fa, fb + 2, c[1]);
    }
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t r = row + lane / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
        write_float((float *)arguments[2] + r * 16 + column, c[i / 4][i % 4]);
    }
}

#include "nvgpu_mistakes.h"

// In block and thread arguments[0] and [1], an access of arguments[3] bytes to arguments[2]; a
// write if arguments[4] is set.
KERNEL(stray, GRID(3, 2, 1), GRID(10, 4, 2), 0)
{
    if (cuda_block_id(1) * 3 + cuda_block_id(0) != arguments[0] || linear_thread() != arguments[1])
        return;
    (arguments[4] ? cuda_write : cuda_read)((void *)arguments[2], (uint32_t)arguments[3]);
}

KERNEL(faults, GRID(2, 1, 1), GRID(8, 8, 1), 128)
{
    if (cuda_block_id(0) != 1 || cuda_thread_id(0) != 5 || cuda_thread_id(1) != 1)
        return;
    fault_in_memory(arguments[1], (char *)arguments[0], cuda_shared());
    fault_elsewhere(arguments[1]);
}

// Threads that miss a barrier, in one block of 64 threads; each number in another way.
KERNEL(apart, GRID(1, 1, 1), GRID(64, 1, 1), 512)
{
    uint64_t kind = arguments[1];
    uint32_t i = cuda_thread_id(0), lane = i % 32, registers[4] = {0};
    char *shared = cuda_shared();
    if (kind == 0 && i < 32)
        cuda_barrier();
    if (kind == 1)
        cuda_barrier_sync(lane < 16 ? 1 : 2, 64);
    if (kind == 2 && lane < 16)
        cuda_load_matrix(registers, shared + lane % 8 * 16, 1, false);
    if (kind == 3) {
        if (lane < 16)
            cuda_load_matrix(registers, shared + lane % 8 * 16, 1, false);
        else
            cuda_barrier();
    }
    if (kind == 4)
        cuda_load_matrix(registers, shared + lane % 8 * 16, lane < 16 ? 1 : 2, false);
    if (kind == 5) {
        if (lane < 16)
            cuda_warp_sync(CUDA_ALL_LANES);
        else
            cuda_ballot(CUDA_ALL_LANES, true);
    }
    if (kind == 6)
        cuda_warp_sync(lane < 16 ? 0x1ffffu : CUDA_ALL_LANES);
    if (kind == 7)
        cuda_barrier_sync(1, i < 32 ? 64 : 32);
    if (kind == 8) {
        if (lane < 16)
            cuda_warp_sync(CUDA_ALL_LANES);
        cuda_barrier();
    }
    if (kind == 9 && lane == 31)
        cuda_load_matrix(registers, shared, 1, false);
    if (kind == 10) {
        if (i < 32)
            cuda_barrier_sync(1, 64);
        else
            cuda_barrier_sync(2, 64);
    }
}

// Operations that do not need the whole warp do not wait for lanes that have ended.
KERNEL(ends_early, GRID(1, 1, 1), GRID(40, 1, 1), 0)
{
    uint32_t i = cuda_thread_id(0);
    if (i >= 8 && i < 32)
        return;
    cuda_warp_sync(CUDA_ALL_LANES);
    ((uint32_t *)arguments[0])[i] = cuda_ballot(CUDA_ALL_LANES, true);
}

KERNEL(narrow_mma, GRID(1, 1, 1), GRID(16, 1, 1), 0)
{
    uint64_t registers[4] = {0};
    (void)arguments;
    cuda_mma(CUDA_M16N8K16_F32_F16, registers, registers, registers, registers);
}

// A grid with the shape given by the arguments.
void shaped(const uint64_t *arguments)
{
    cuda_shape shape;
    for (int i = 0; i < 3; i++) {
        shape.grid[i] = (uint32_t)arguments[i];
        shape.block[i] = (uint32_t)arguments[3 + i];
        shape.cluster[i] = 1;
    }
    shape.shared_bytes = (uint32_t)arguments[6];
    shape.registers = shape.resident = 0;
    cuda_launch(empty_thread, arguments, &shape);
}

// Outside of a grid there are no threads.
void no_thread(const uint64_t *arguments)
{
    (void)arguments;
    cuda_barrier();
}
