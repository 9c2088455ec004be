// SPDX-License-Identifier: Apache-2.0
// Kernels of independent blocks, for the tests of launches on several cores. Their first argument is
// memory of 64 numbers, initially 0, through which blocks communicate only for the tests.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda_sim.h"

#define KERNEL(name, blocks, threads)                                                              \
    static void name##_thread(const uint64_t *arguments);                                          \
    void name(const uint64_t *arguments)                                                           \
    {                                                                                              \
        cuda_launch_independent(name##_thread, arguments,                                          \
                                &(cuda_shape){{blocks, 1, 1}, {threads, 1, 1}, 256, {1, 1, 1}, 0, 0}); \
    }                                                                                              \
    static void name##_thread(const uint64_t *arguments)

static volatile int32_t *numbers(const uint64_t *arguments)
{
    return (volatile int32_t *)(uintptr_t)arguments[0];
}

static void wait_for(volatile int32_t *number)
{
    while (!*number)
        usleep(100);
}

// Two blocks that wait for each other: the processes that run them.
KERNEL(meet, 2, 1)
{
    volatile int32_t *met = numbers(arguments);
    uint32_t block = cuda_block_id(0);
    met[block] = getpid();
    wait_for(&met[1 - block]);
}

// The processes of the blocks of the launch.
KERNEL(processes, 0, 1)
{
    cuda_write((void *)&numbers(arguments)[cuda_block_id(0)], 4);
    numbers(arguments)[cuda_block_id(0)] = getpid();
}

static void read_outside(const uint64_t *arguments)
{
    cuda_read((void *)(uintptr_t)(arguments[0] + 256 + 4 * cuda_block_id(0)), 4);
}

// Block 3 has begun to fail, and block 1 fails later; the second thread in each.
KERNEL(two_faults, 6, 2)
{
    volatile int32_t *failing = numbers(arguments);
    uint32_t block = cuda_block_id(0);
    if (cuda_thread_id(0) == 0 || (block != 1 && block != 3))
        return;
    if (block == 1 && arguments[1])
        wait_for(failing);
    if (block == 1 && arguments[1])
        usleep(20 * 1000);
    *failing = 1;
    read_outside(arguments);
}

// Threads of two blocks that wait for one that has ended; each waits until both begin.
KERNEL(two_deadlocks, 2, 64)
{
    volatile int32_t *begun = numbers(arguments);
    uint32_t block = cuda_block_id(0);
    begun[block] = 1;
    if (cuda_thread_id(0) >= 32)
        return;
    if (arguments[1])
        wait_for(&begun[1 - block]);
    cuda_barrier();
}

enum { KILLED, EXITS, HANGS, HANGS_DEAF, ATOMIC, PAUSES, CLUSTER };

// Block 2 performs an illegal action.
KERNEL(breaks, 4, 1)
{
    if (cuda_block_id(0) != 2)
        return;
    sigset_t all;
    switch (arguments[1]) {
    case KILLED:
        raise(SIGKILL);
        break;
    case EXITS:
        exit(3);
    case HANGS_DEAF:
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, NULL);
        // falls through
    case HANGS:
        numbers(arguments)[0] = getpid();
        for (;;)
            usleep(1000);
    case ATOMIC:
        cuda_atomic((void *)numbers(arguments), 4);
        break;
    case PAUSES:
        cuda_pause();
        break;
    case CLUSTER:
        cuda_cluster_sync();
    }
}

// Each block prints its number and a line of arguments[1] characters, arguments[2] times; block
// arguments[3] fails after that.
KERNEL(prints, 0, 2)
{
    int64_t numbers[3] = {cuda_block_id(0), (int64_t)arguments[1], 0};
    if (cuda_thread_id(0))
        return;
    char format[64];
    snprintf(format, sizeof format, "block %%lld, line %%0%ulld of 100%%%%\n", (unsigned)arguments[1]);
    for (uint64_t line = 0; line < arguments[2]; line++) {
        numbers[1] = (int64_t)line;
        cuda_print(format, numbers);
    }
    if (cuda_block_id(0) == arguments[3])
        read_outside(arguments);
}

// Prints, and never ends.
KERNEL(prints_and_hangs, 3, 1)
{
    int64_t number = cuda_block_id(0);
    cuda_print("block %lld\n", &number);
    numbers(arguments)[number] = 1;
    while (number == 1)
        usleep(1000);
}

// The state that an unfinished block leaves: stacks, copies, barriers, shared memory.
KERNEL(halves, 0, 64)
{
    float *shared = cuda_shared(), *out = (float *)(uintptr_t)arguments[1];
    const float *in = (const float *)(uintptr_t)arguments[0];
    uint32_t thread = cuda_thread_id(0), at = cuda_block_id(0) * 64 + thread;
    char kept[1024];
    memset(kept, (int)thread, sizeof kept);
    cuda_copy_async(shared + thread, in + at, 4, 4);
    cuda_copy_async_wait_all();
    for (int round = 0; round < 8; round++) {
        cuda_barrier();
        cuda_read(shared + (thread + 1) % 64, 4);
        float next = shared[(thread + 1) % 64];
        cuda_barrier();
        cuda_write(shared + thread, 4);
        shared[thread] = next + (float)kept[thread * 16 + round];
    }
    cuda_write(out + at, 4);
    out[at] = shared[thread];
}
