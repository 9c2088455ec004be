// SPDX-License-Identifier: Apache-2.0
// A batch of matrix instructions of a warp: loaded matrices and registers of lanes are assembled to fragments,
// which are multiplied.
#ifndef GPU_BATCH_H
#define GPU_BATCH_H

#include <stdint.h>

#include "cuda_sim.h"

#define GPU_ROWS 16
#define GPU_COLUMNS 8
#define GPU_FRAGMENT_BYTES 32 // of a row of A, and of a column of B

typedef enum { GPU_F16, GPU_BF16, GPU_TF32, GPU_S8 } gpu_operand; // type of A and B

typedef struct {
    char a[CUDA_BATCH][GPU_ROWS][GPU_FRAGMENT_BYTES];
    // Row by row for 16-bit elements, column by column for others.
    char b[CUDA_BATCH][GPU_COLUMNS * GPU_FRAGMENT_BYTES];
    uint32_t c[CUDA_BATCH][GPU_ROWS][GPU_COLUMNS]; // float32 or int32
} gpu_fragments;

typedef struct {
    uint32_t a, b, c;
} gpu_step;

// The batch of a lane, and the lane's words.
typedef struct {
    const cuda_matrix_batch *batch;
    uint32_t *words;
} gpu_lane_batch;

// gpu_batch.c
// Check the rows that the running lane loads.
void gpu_batch_check(const gpu_lane_batch *own);
// Run a batch for a warp; there is a pointer to gpu_lane_batch for each lane.
void gpu_batch_run(void *const *lanes);

// gpu_multiply.c
// The K extent of an mma.sync.
uint32_t gpu_inner(gpu_operand operand);
// Execute the steps of a batch in order.
void gpu_multiply(gpu_operand operand, gpu_fragments *all, const cuda_matrix_batch *batch,
                  const gpu_step *steps);

#endif
