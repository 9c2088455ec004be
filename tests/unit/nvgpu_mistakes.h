// SPDX-License-Identifier: Apache-2.0
// The mistakes of the kernel `faults` of nvgpu_kernels.c, which includes this file.
#ifndef NVGPU_MISTAKES_H
#define NVGPU_MISTAKES_H

// Mistakes, one for each number, made in block (1, 0, 0) by thread (5, 1, 0).
static volatile int zero;

static int overflow(volatile char *above)
{
    volatile char frame[4096];
    frame[0] = above[0];
    return zero ? 0 : overflow(frame) + frame[0];
}

static void fault_in_memory(uint64_t kind, char *global, char *shared)
{
    uint32_t registers[4];
    if (kind == 0)
        cuda_read(global + 64, 4);
    if (kind == 1)
        cuda_write(global - 4, 4);
    if (kind == 2)
        cuda_read(global + 2, 4);
    if (kind == 3)
        cuda_write(global + 8, 16);
    if (kind == 4)
        cuda_read(shared + 128, 4);
    if (kind == 5)
        cuda_write(shared + 124, 8);
    if (kind == 6)
        cuda_read(NULL, 4);
    if (kind == 7)
        cuda_read(global, 12);
    if (kind == 8)
        cuda_copy_async(shared + 8, global, 16, 16);
    if (kind == 9)
        cuda_copy_async(global, global, 16, 16);
    if (kind == 10)
        cuda_copy_async(shared, global + 64, 16, 16);
    if (kind == 11)
        cuda_copy_async(shared, global, 16, 17);
    if (kind == 12)
        cuda_load_matrix(registers, shared + 8, 4, false);
    if (kind == 13)
        cuda_load_matrix(registers, shared + 128, 4, false);
    if (kind == 14)
        *(volatile int *)((uintptr_t)zero + 16) = 1;
    if (kind == 15)
        overflow(shared);
    if (kind == 16)
        cuda_read(global + 61, 1), cuda_read(global + 60, 8);
}

static void fault_elsewhere(uint64_t kind)
{
    static const cuda_shape shape = {{1, 1, 1}, {1, 1, 1}, 0, {1, 1, 1}, 0, 0};
    if (kind == 30)
        zero = 7 / zero;
    if (kind == 31)
        __builtin_trap();
    if (kind == 32)
        abort();
    if (kind == 33)
        exit(0);
    if (kind == 34)
        cuda_launch(empty_thread, NULL, &shape);
    if (kind == 35)
        cuda_barrier_sync(16, 0);
    if (kind == 36)
        cuda_barrier_sync(1, 33);
    if (kind == 37)
        cuda_barrier_arrive(1, 0);
    if (kind == 38)
        cuda_warp_sync(1);
    if (kind == 39)
        (void)cuda_shuffle(CUDA_ALL_LANES, (cuda_shuffle_mode)4, 0, 0, 31, NULL);
    if (kind == 40)
        cuda_mma((cuda_mma_kind)99, NULL, NULL, NULL, NULL);
    if (kind == 41)
        for (volatile int i = 0;; i++)
            ;
}

#endif
