// SPDX-License-Identifier: Apache-2.0
// Matrices of 8 by 8 elements of 16 bits between shared memory and the registers of a warp.
#include <string.h>

#include "gpu_sim.h"
#include "sim_device.h"

#define ROW_BYTES 16

typedef struct {
    uint32_t *registers;
    char *row;
    uint32_t matrices;
    bool transposed, store;
} access;

static char *element(void *const *arguments, uint32_t matrix, uint32_t row, uint32_t column)
{
    return ((const access *)arguments[matrix * 8 + row])->row + 2 * column;
}

// Lane l has elements 2 (l % 4) and the next one of row l / 4, or of that column where transposed.
static void move(void *const *arguments, uint32_t lanes)
{
    (void)lanes;
    for (uint32_t lane = 0; lane < CUDA_WARP; lane++) {
        const access *own = arguments[lane];
        for (uint32_t matrix = 0; matrix < own->matrices; matrix++)
            for (uint32_t half = 0; half < 2; half++) {
                uint32_t row = lane / 4, column = lane % 4 * 2 + half;
                char *position = own->transposed ? element(arguments, matrix, column, row)
                                              : element(arguments, matrix, row, column);
                char *mine = (char *)&own->registers[matrix] + 2 * half;
                memcpy(own->store ? position : mine, own->store ? mine : position, 2);
            }
    }
    const access *any = arguments[0];
    gpu_count(any->store ? GPU_STORED_MATRICES : GPU_LOADED_MATRICES, any->matrices);
    gpu_count(any->store ? GPU_SHARED_WRITE_BYTES : GPU_SHARED_READ_BYTES,
              (uint64_t)any->matrices * 8 * ROW_BYTES);
}

static void check_access(const access *own, const gpu_collective *collective)
{
    uint32_t lane = cuda_lane_id();
    if (own->matrices != 1 && own->matrices != 2 && own->matrices != 4)
        sim_fault(0, "%s of %u matrices", collective->name, own->matrices);
    if (lane < 8 * own->matrices) {
        gpu_check_alignment(own->row, ROW_BYTES, collective->name);
        gpu_check_shared(own->row, ROW_BYTES, collective->name);
        gpu_touch(own->row, ROW_BYTES, own->store);
        if (own->store)
            gpu_proxy_written(own->row, ROW_BYTES);
    }
}

static void run_collective(access *own, const gpu_collective *collective)
{
    check_access(own, collective);
    gpu_run_collective(collective, own->matrices * 2 + own->transposed, CUDA_ALL_LANES, own);
}

void cuda_load_matrix(uint32_t *registers, const void *row, uint32_t matrices, bool transposed)
{
    static const gpu_collective collective = {"cuda_load_matrix", true, move};
    access own = {registers, (char *)row, matrices, transposed, false};
    run_collective(&own, &collective);
}

void cuda_store_matrix(const uint32_t *registers, void *row, uint32_t matrices, bool transposed)
{
    static const gpu_collective collective = {"cuda_store_matrix", true, move};
    access own = {(uint32_t *)registers, row, matrices, transposed, true};
    run_collective(&own, &collective);
}

typedef struct {
    uint32_t count;
    cuda_matrix_load *loads;
} load_batch;

static void load_all(void *const *arguments, uint32_t lanes)
{
    uint32_t count = ((const load_batch *)arguments[0])->count;
    for (uint32_t number = 0; number < count; number++) {
        access all[CUDA_WARP];
        void *each[CUDA_WARP];
        for (uint32_t lane = 0; lane < CUDA_WARP; lane++) {
            cuda_matrix_load *load = &((const load_batch *)arguments[lane])->loads[number];
            all[lane] = (access){load->registers, (char *)load->row, load->matrices,
                                 load->transposed, false};
            each[lane] = &all[lane];
        }
        move(each, lanes);
    }
}

void cuda_load_matrix_batch(uint32_t count, cuda_matrix_load *loads)
{
    static const gpu_collective collective = {"cuda_load_matrix", true, load_all};
    gpu_require_thread(collective.name);
    for (uint32_t number = 0; number < count; number++) {
        const cuda_matrix_load *load = &loads[number];
        access own = {NULL, (char *)load->row, load->matrices, load->transposed, false};
        check_access(&own, &collective);
    }
    load_batch all = {count, loads};
    gpu_run_collective(&collective, count, CUDA_ALL_LANES, &all);
}
