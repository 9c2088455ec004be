// SPDX-License-Identifier: Apache-2.0
// Matrices of 8 by 8 elements of 16 bits between shared memory and the registers of a warp.
#include <string.h>

#include "gpu_access.h"
#include "gpu_transpose.h"
#include "sim_device.h"

#define ROW_BYTES 16
#define ROWS 8
#define MATRICES 4 // the most of an instruction

// The operands of a lane. Lane 8 * m + r gives row r of matrix m.
typedef struct {
    uint32_t *registers;
    char *row;
    uint32_t matrices;
    bool transposed;
} access;

typedef gpu_halves tile[MATRICES][ROWS];

static void transpose(tile matrices, uint32_t count)
{
    for (uint32_t matrix = 0; matrix < count; matrix++)
        gpu_transpose_halves(matrices[matrix]);
}

// The word of a lane. Lane l holds elements 2 (l % 4) and 2 (l % 4) + 1 of row l / 4, or of that column if the
// matrix is transposed.
static char *word_of(tile matrices, uint32_t matrix, uint32_t lane)
{
    return (char *)&matrices[matrix][lane / 4] + lane % 4 * 4;
}

static void count_matrices(void *const *arguments, bool store)
{
    uint32_t count = ((const access *)arguments[0])->matrices;
    const char *rows[CUDA_WARP];
    for (uint32_t lane = 0; lane < count * ROWS; lane++)
        rows[lane] = ((const access *)arguments[lane])->row;
    gpu_access_rows(rows, count, store ? GPU_STORED_MATRIX_CONFLICTS : GPU_LOADED_MATRIX_CONFLICTS);
    gpu_count(store ? GPU_STORED_MATRICES : GPU_LOADED_MATRICES, count);
    gpu_count(store ? GPU_SHARED_WRITE_BYTES : GPU_SHARED_READ_BYTES, (uint64_t)count * ROWS * ROW_BYTES);
}

static void load_all(void *const *arguments, uint32_t lanes)
{
    const access *any = arguments[0];
    tile matrices;
    (void)lanes;
    for (uint32_t lane = 0; lane < any->matrices * ROWS; lane++)
        memcpy(&matrices[lane / ROWS][lane % ROWS], ((const access *)arguments[lane])->row, ROW_BYTES);
    if (any->transposed)
        transpose(matrices, any->matrices);
    for (uint32_t lane = 0; lane < CUDA_WARP; lane++)
        for (uint32_t matrix = 0; matrix < any->matrices; matrix++)
            memcpy(&((const access *)arguments[lane])->registers[matrix], word_of(matrices, matrix, lane), 4);
    count_matrices(arguments, false);
}

static void store_all(void *const *arguments, uint32_t lanes)
{
    const access *any = arguments[0];
    tile matrices;
    (void)lanes;
    for (uint32_t lane = 0; lane < CUDA_WARP; lane++)
        for (uint32_t matrix = 0; matrix < any->matrices; matrix++)
            memcpy(word_of(matrices, matrix, lane), &((const access *)arguments[lane])->registers[matrix], 4);
    if (any->transposed)
        transpose(matrices, any->matrices);
    for (uint32_t lane = 0; lane < any->matrices * ROWS; lane++)
        memcpy(((const access *)arguments[lane])->row, &matrices[lane / ROWS][lane % ROWS], ROW_BYTES);
    count_matrices(arguments, true);
}

static inline void check_access(const void *row, uint32_t matrices, bool store, const char *name)
{
    if (matrices != 1 && matrices != 2 && matrices != 4)
        sim_fault(0, "%s of %u matrices", name, matrices);
    if (gpu_running->number % CUDA_WARP >= ROWS * matrices)
        return;
    gpu_check_alignment(row, ROW_BYTES, name);
    gpu_check_shared(row, ROW_BYTES, name);
    gpu_touch(row, ROW_BYTES, store);
    if (store)
        gpu_proxy_written(row);
}

static void run_collective(access *own, bool store, const gpu_collective *collective)
{
    check_access(own->row, own->matrices, store, collective->name);
    gpu_run_collective(collective, own->matrices * 2 + own->transposed, CUDA_ALL_LANES, own);
}

void cuda_load_matrix(uint32_t *registers, const void *row, uint32_t matrices, bool transposed)
{
    static const gpu_collective collective = {"cuda_load_matrix", true, load_all};
    access own = {registers, (char *)row, matrices, transposed};
    run_collective(&own, false, &collective);
}

void cuda_store_matrix(const uint32_t *registers, void *row, uint32_t matrices, bool transposed)
{
    static const gpu_collective collective = {"cuda_store_matrix", true, store_all};
    access own = {(uint32_t *)registers, row, matrices, transposed};
    run_collective(&own, true, &collective);
}
