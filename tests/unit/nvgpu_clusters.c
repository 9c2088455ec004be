// SPDX-License-Identifier: Apache-2.0
// A kernel that clusters of any size run, for the tests of the simulated GPU.
#include "cuda_sim.h"

// Each thread writes its block's number when the cluster has met.
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
    static const cuda_shape shape = {{8, 1, 1}, {1, 1, 1}, 0, {1, 1, 1}, 0};
    cuda_launch(thread, arguments, &shape);
}
