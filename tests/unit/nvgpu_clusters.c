// SPDX-License-Identifier: Apache-2.0
// A kernel that clusters of any size run, for the tests of the simulated GPU.
#include "cuda_sim.h"

// Each thread writes its block's number after a barrier of the cluster.
static void thread(const uint64_t *arguments)
{
    int32_t *numbers = (int32_t *)arguments[0];
    int32_t block = (int32_t)cuda_block_id(0);
    cuda_cluster_sync();
    cuda_write(&numbers[block], sizeof *numbers);
    numbers[block] = block;
}

void meet(const uint64_t *arguments)
{
    static const cuda_shape shape = {{8, 1, 1}, {1, 1, 1}, 0, {1, 1, 1}, 0, 0};
    cuda_launch(thread, arguments, &shape);
}

// Block 0 writes a number and signals block 1, which reads it, by an arrival of either kind.
static void tell(const uint64_t *arguments, void (*arrive)(void *barrier, uint32_t arrivals))
{
    int32_t *number = (int32_t *)arguments[0];
    void *barrier = cuda_shared();
    cuda_mbarrier_init(barrier, 1);
    cuda_cluster_sync();
    if (cuda_block_id(0) == 0) {
        cuda_write(number, sizeof *number);
        *number = 7;
        arrive(cuda_map_shared(barrier, 1), 1);
    } else {
        cuda_mbarrier_wait(barrier, 0);
        cuda_read(number, sizeof *number);
    }
    cuda_cluster_sync();
}

static void told_thread(const uint64_t *arguments)
{
    tell(arguments, cuda_mbarrier_arrive);
}

static void hinted_thread(const uint64_t *arguments)
{
    tell(arguments, cuda_mbarrier_arrive_in_block);
}

// The same by a barrier of the cluster.
static void met_thread(const uint64_t *arguments)
{
    int32_t *number = (int32_t *)arguments[0];
    if (cuda_block_id(0) == 0)
        cuda_write(number, sizeof *number);
    cuda_cluster_sync_relaxed();
    if (cuda_block_id(0) == 1)
        cuda_read(number, sizeof *number);
}

static const cuda_shape pair = {{2, 1, 1}, {1, 1, 1}, 8, {2, 1, 1}, 0, 0};

void told(const uint64_t *arguments)
{
    cuda_launch(told_thread, arguments, &pair);
}

void hinted(const uint64_t *arguments)
{
    cuda_launch(hinted_thread, arguments, &pair);
}

void met(const uint64_t *arguments)
{
    cuda_launch(met_thread, arguments, &pair);
}
