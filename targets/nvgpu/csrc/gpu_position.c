// SPDX-License-Identifier: Apache-2.0
// The functions of cuda_sim.h that return a thread's position.
#include "gpu_sim.h"

uint32_t cuda_thread_id(uint32_t dimension)
{
    gpu_require_thread("cuda_thread_id");
    return gpu_running->position[dimension % 3];
}

uint32_t cuda_block_id(uint32_t dimension)
{
    gpu_require_thread("cuda_block_id");
    return gpu_block_position[dimension % 3];
}

uint32_t cuda_block_size(uint32_t dimension)
{
    gpu_require_thread("cuda_block_size");
    return gpu_shape.block[dimension % 3];
}

uint32_t cuda_grid_size(uint32_t dimension)
{
    gpu_require_thread("cuda_grid_size");
    return gpu_shape.grid[dimension % 3];
}

uint32_t cuda_lane_id(void)
{
    gpu_require_thread("cuda_lane_id");
    return gpu_running->number % CUDA_WARP;
}
