// SPDX-License-Identifier: Apache-2.0
// Accesses to shared memory with known bank conflicts. The first argument is an array of offsets
// in shared memory, one for each thread; threads whose offset is -1 do nothing.
#include "cuda_sim.h"

#define SHARED (32 << 10)
#define KERNEL(name, threads)                                                                      \
    static void name##_thread(const uint64_t *arguments);                                          \
    void name(const uint64_t *arguments)                                                           \
    {                                                                                              \
        static const cuda_shape shape = {{1, 1, 1}, {threads, 1, 1}, SHARED, {1, 1, 1}, 0, 0};     \
        cuda_launch_independent(name##_thread, arguments, &shape);                                 \
    }                                                                                              \
    static void name##_thread(const uint64_t *arguments)

static char *own(const uint64_t *arguments)
{
    int32_t offset = ((const int32_t *)arguments[0])[cuda_thread_id(0)];
    return offset < 0 ? 0 : (char *)cuda_shared() + offset;
}

// arguments[1] bytes each, arguments[2] times.
KERNEL(reads, 64)
{
    for (uint64_t i = 0; own(arguments) && i < arguments[2]; i++)
        cuda_read(own(arguments), (uint32_t)arguments[1]);
}

KERNEL(writes, 64)
{
    for (uint64_t i = 0; own(arguments) && i < arguments[2]; i++)
        cuda_write(own(arguments), (uint32_t)arguments[1]);
}

// The same in the array at arguments[2], once.
KERNEL(global_reads, 64)
{
    if (own(arguments))
        cuda_read((char *)arguments[2] + (own(arguments) - (char *)cuda_shared()), (uint32_t)arguments[1]);
}

KERNEL(global_writes, 64)
{
    if (own(arguments))
        cuda_write((char *)arguments[2] + (own(arguments) - (char *)cuda_shared()), (uint32_t)arguments[1]);
}

// From the array of offsets itself.
KERNEL(copies, 64)
{
    if (own(arguments))
        cuda_copy_async(own(arguments), (const void *)arguments[0], 16, 16);
    cuda_copy_async_wait_all();
}

// arguments[1] matrices.
KERNEL(loads, 64)
{
    uint32_t registers[4];
    cuda_load_matrix(registers, own(arguments), (uint32_t)arguments[1], false);
}

KERNEL(stores, 64)
{
    static const uint32_t registers[4];
    cuda_store_matrix(registers, own(arguments), (uint32_t)arguments[1], true);
}

// Threads of even number take one branch, the others the other: two locations. After a barrier all
// read the same location again, half of them for the first time.
KERNEL(branches, 64)
{
    for (int round = 0; round < 2; round++) {
        if (cuda_thread_id(0) % 2 == 0 || round)
            cuda_read(own(arguments), 4);
        cuda_barrier();
    }
}

// More accesses than are merged, none of which a warp executes as a whole before its end.
KERNEL(many, 64)
{
    for (uint64_t i = 0; i < arguments[1]; i++)
        cuda_read(own(arguments), 4);
}

// Thread 0 arrives for all others; threads that wait earlier must wait.
KERNEL(waits, 64)
{
    void *barrier = cuda_shared();
    uint32_t thread = cuda_thread_id(0);
    if (thread == 0)
        cuda_mbarrier_init(barrier, 1);
    cuda_barrier();
    if (thread == arguments[1])
        cuda_mbarrier_arrive(barrier, 1);
    cuda_mbarrier_wait(barrier, 0);
}
