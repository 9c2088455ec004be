// SPDX-License-Identifier: Apache-2.0
// Kernels with and without races, for the tests of the simulated GPU: one for each number.
#include "cuda_sim.h"

static void load(const volatile int *from, int *to)
{
    cuda_read((const void *)from, 4);
    *to = *from;
}

static void store(volatile int *to, int value)
{
    cuda_write((void *)to, 4);
    *to = value;
}

// Neighbors exchange numbers in shared memory.
static void exchange(uint64_t kind, int *global, volatile int *shared, uint32_t self)
{
    int got;
    store(&shared[self], (int)self);
    if (kind == 0)
        cuda_barrier();
    if (kind == 2)
        cuda_warp_sync(CUDA_ALL_LANES);
    load(&shared[kind == 2 ? self ^ 1 : self ^ 32], &got);
    store(&global[self], got);
}

// The same buffer again, with and without a barrier between the rounds.
static void rounds(uint64_t kind, volatile int *shared, uint32_t self)
{
    int got;
    for (int round = 0; round < 2; round++) {
        store(&shared[self], round);
        cuda_barrier();
        load(&shared[self ^ 32], &got);
        if (kind == 3)
            cuda_barrier();
    }
}

// A number that all lanes of a warp have read is overwritten, with and without a preceding warp
// barrier; and with a warp barrier after another warp has read it as well.
static void written_after_all_have_read(uint64_t kind, volatile int *shared, uint32_t self)
{
    int got;
    volatile int *number = &shared[kind == 18 ? 0 : self / 32];
    if (self % 32 == 0 && (kind != 18 || !self))
        store(number, 1);
    cuda_barrier();
    load(number, &got);
    if (kind != 17)
        cuda_warp_sync(CUDA_ALL_LANES);
    if (self % 32 == 5)
        store(number, 2);
}

static void between_blocks(uint64_t kind, int *global, uint32_t block, uint32_t self)
{
    int got;
    if (self)
        return;
    if (kind == 5) // each a separate one
        store(&global[block], 1);
    if (kind == 6) // all the same
        store(global, (int)block);
    if (kind == 7) // one writes what the others read
        block ? load(global, &got) : store(global, 1);
    if (kind == 8) // all read
        load(global, &got);
}

static void divergent(uint64_t kind, uint32_t self)
{
    if (kind == 9)
        cuda_barrier();
    if (kind == 10 && self % 2) {
        cuda_next_barrier(1);
        cuda_barrier();
    } else if (kind == 10) {
        cuda_next_barrier(2);
        cuda_barrier();
    }
    uint32_t value = 0;
    if (kind == 11 && self % 32 >= 16)
        return;
    if (kind == 11)
        value = cuda_shuffle(CUDA_ALL_LANES, CUDA_SHUFFLE_XOR, self, 16, 31, 0);
    if (kind == 12 && self % 32 < 16)
        value = cuda_shuffle(0xffff, CUDA_SHUFFLE_XOR, self, 8, 31, 0);
    (void)value;
}

// Thread 0 writes 16 bytes or, for kind 14, one of them; thread 32 writes the preceding byte or,
// for kind 13, the fourteenth one.
static void widths(uint64_t kind, const char *shared, uint32_t self)
{
    if (self == 0)
        cuda_write(shared + (kind == 14 ? 21 : 16), kind == 14 ? 1 : 16);
    if (self == 32)
        cuda_write(shared + (kind == 13 ? 29 : 15), 1);
    if (self == 32 && kind == 14)
        cuda_read(shared + 16, 16);
}

static void thread(const uint64_t *arguments)
{
    uint32_t self = cuda_thread_id(0);
    int *global = (int *)(uintptr_t)arguments[0];
    if (arguments[1] < 3)
        exchange(arguments[1], global, cuda_shared(), self);
    else if (arguments[1] < 5)
        rounds(arguments[1], cuda_shared(), self);
    else if (arguments[1] >= 16)
        written_after_all_have_read(arguments[1], cuda_shared(), self);
    else if (arguments[1] < 9)
        between_blocks(arguments[1], global, cuda_block_id(0), self);
    else if (arguments[1] > 12)
        widths(arguments[1], cuda_shared(), self);
    else
        divergent(arguments[1], self);
}

void races(const uint64_t *arguments)
{
    uint32_t blocks = arguments[1] < 5 || arguments[1] >= 13 ? 1 : 3;
    cuda_launch(thread, arguments, &(cuda_shape){{blocks, 1, 1}, {64, 1, 1}, 256, {1, 1, 1}, 0, 0});
}
