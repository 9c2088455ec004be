// SPDX-License-Identifier: Apache-2.0
// Device code for the contract tests, the same kernels for every device. CONTRACT_MPPA, CONTRACT_NVGPU
// and CONTRACT_STAND_IN select the device; without one it is the null device.
#include <stdint.h>

typedef struct {
    uint32_t x; // the block
} place;

#if defined(CONTRACT_STAND_IN)

#define ARGUMENT(type, number) (*(type *)arguments[number])
#define KERNEL(name, blocks, count)                                                                \
    const uint32_t name##_launch[8] = {blocks, 1, 1, 1, 1, 1, 0, count};                           \
    static void name##_body(void **arguments, place block);                                        \
    void name(void **arguments)                                                                    \
    {                                                                                              \
        name##_body(arguments, (place){0});                                                        \
    }                                                                                              \
    static void name##_body(void **arguments, place block)

#else

#define ARGUMENT(type, number) (*(type *)(uintptr_t)&arguments[number])
#define BODY(name) static void name##_body(const uint64_t *arguments, place block)

#if defined(CONTRACT_MPPA)

#include "dev.h"
#define KERNEL(name, blocks, count)                                                                \
    BODY(name);                                                                                    \
    void name(const uint64_t *arguments)                                                           \
    {                                                                                              \
        if (dev_cluster_id() == 0)                                                                 \
            name##_body(arguments, (place){0});                                                    \
    }                                                                                              \
    BODY(name)

#elif defined(CONTRACT_NVGPU)

#include "cuda_sim.h"
#define KERNEL(name, blocks, count)                                                                \
    BODY(name);                                                                                    \
    static void name##_thread(const uint64_t *arguments)                                           \
    {                                                                                              \
        name##_body(arguments, (place){cuda_block_id(0)});                                         \
    }                                                                                              \
    void name(const uint64_t *arguments)                                                           \
    {                                                                                              \
        static const cuda_shape shape = {{blocks, 1, 1}, {1, 1, 1}, 0, {1, 1, 1}, 0, 0};           \
        cuda_launch(name##_thread, arguments, &shape);                                             \
    }                                                                                              \
    BODY(name)

#else

#define KERNEL(name, blocks, count)                                                                \
    BODY(name);                                                                                    \
    void name(const uint64_t *arguments, const uint32_t *block)                                    \
    {                                                                                              \
        name##_body(arguments, (place){block[0]});                                                 \
    }                                                                                              \
    BODY(name)

#endif
#endif

int64_t table[4] = {1, 2, 3, 4}; // data, not a function; 32 bytes

KERNEL(empty, 1, 0)
{
    (void)arguments, (void)block;
}

// out[0] = out[0] * factor + 1, of int64.
KERNEL(step, 1, 2)
{
    (void)block;
    int64_t *out = ARGUMENT(int64_t *, 0);
    *out = *out * ARGUMENT(int64_t, 1) + 1;
}

// out = the other arguments, as doubles.
KERNEL(typed, 1, 5)
{
    (void)block;
    double *out = ARGUMENT(double *, 0);
    out[0] = ARGUMENT(int32_t, 1);
    out[1] = (double)ARGUMENT(int64_t, 2);
    out[2] = (double)ARGUMENT(float, 3);
    out[3] = ARGUMENT(double, 4);
}

// out[block] = block + 1, of int32; one block unless the launch has a grid.
KERNEL(blocks, 1, 1)
{
    ARGUMENT(int32_t *, 0)[block.x] = (int32_t)block.x + 1;
}

// The same; the launch must give the grid.
KERNEL(needs_grid, 0, 1)
{
    ARGUMENT(int32_t *, 0)[block.x] = (int32_t)block.x + 1;
}

// out[i] = table[i], of int64.
KERNEL(read_table, 1, 1)
{
    (void)block;
    for (int i = 0; i < 4; i++)
        ARGUMENT(int64_t *, 0)[i] = table[i];
}

// Writes outside of all memory.
KERNEL(fault, 1, 0)
{
    (void)arguments, (void)block;
    int *volatile nowhere = (int *)8;
    *nowhere = 1;
}

// Ends when the first word is no longer 0.
KERNEL(wait_for_word, 1, 1)
{
    (void)block;
    const volatile uint32_t *word = ARGUMENT(const uint32_t *, 0);
    while (*word == 0)
        ;
}
