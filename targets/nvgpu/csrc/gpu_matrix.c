// SPDX-License-Identifier: Apache-2.0
// Matrices of 8 by 8 elements of 16 bits between shared memory and the registers of a warp.
#include <string.h>

#include "gpu_access.h"
#include "gpu_transpose.h"
#include "sim_device.h"

#define ROW_BYTES 16
#define ROWS 8
#define MATRICES 4 // at most, of an instruction

// What a lane gives: the row of lane 8 * m + r is row r of matrix m.
typedef struct {
    uint32_t *registers;
    char *row;
    uint32_t matrices;
    bool transposed;
} access;

// Lane l has elements 2 (l % 4) and the next one of row l / 4, or of that column where transposed: a word
// of 4 in a row. Of four matrices it has a row of words; those that there are not stay 0.
typedef gpu_halves tile[MATRICES][ROWS];

static void transpose(tile matrices, uint32_t count)
{
    for (uint32_t matrix = 0; matrix < count; matrix++)
        gpu_transpose_halves(matrices[matrix]);
}

static void load_rows(char *const *rows, uint32_t count, tile matrices)
{
    for (uint32_t lane = 0; lane < count * ROWS; lane++)
        memcpy(&matrices[lane / ROWS][lane % ROWS], rows[lane], ROW_BYTES);
}

static void count_matrices(bool store, uint32_t matrices)
{
    gpu_count(store ? GPU_STORED_MATRICES : GPU_LOADED_MATRICES, matrices);
    gpu_count(store ? GPU_SHARED_WRITE_BYTES : GPU_SHARED_READ_BYTES,
              (uint64_t)matrices * ROWS * ROW_BYTES);
}

// Load to registers that have room for 4.
static void load(char *const *rows, uint32_t *const *registers, uint32_t count, bool transposed)
{
    tile matrices = {{{0}}};
    load_rows(rows, count, matrices);
    if (transposed)
        transpose(matrices, count);
    for (uint32_t row = 0; row < ROWS; row++) {
        gpu_words each[4];
        for (uint32_t matrix = 0; matrix < MATRICES; matrix++)
            each[matrix] = (gpu_words)matrices[matrix][row];
        gpu_transpose_words(each);
        for (uint32_t i = 0; i < 4; i++)
            memcpy(registers[row * 4 + i], &each[i], sizeof each[i]);
    }
    count_matrices(false, count);
}

static void load_one(void *const *arguments, uint32_t lanes)
{
    const access *any = arguments[0];
    uint32_t found[CUDA_WARP][MATRICES], *registers[CUDA_WARP];
    char *rows[CUDA_WARP];
    (void)lanes;
    for (uint32_t lane = 0; lane < CUDA_WARP; lane++) {
        rows[lane] = ((const access *)arguments[lane])->row;
        registers[lane] = found[lane];
    }
    load(rows, registers, any->matrices, any->transposed);
    for (uint32_t lane = 0; lane < CUDA_WARP; lane++)
        memcpy(((const access *)arguments[lane])->registers, found[lane],
               any->matrices * sizeof **found);
}

static void store_one(void *const *arguments, uint32_t lanes)
{
    const access *any = arguments[0];
    tile matrices;
    (void)lanes;
    for (uint32_t lane = 0; lane < CUDA_WARP; lane++)
        for (uint32_t matrix = 0; matrix < any->matrices; matrix++)
            memcpy((uint32_t *)&matrices[matrix][lane / 4] + lane % 4,
                   &((const access *)arguments[lane])->registers[matrix], sizeof(uint32_t));
    if (any->transposed)
        transpose(matrices, any->matrices);
    for (uint32_t lane = 0; lane < any->matrices * ROWS; lane++)
        memcpy(((const access *)arguments[lane])->row, &matrices[lane / ROWS][lane % ROWS], ROW_BYTES);
    count_matrices(true, any->matrices);
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
    static const gpu_collective collective = {"cuda_load_matrix", true, load_one};
    access own = {registers, (char *)row, matrices, transposed};
    run_collective(&own, false, &collective);
}

void cuda_store_matrix(const uint32_t *registers, void *row, uint32_t matrices, bool transposed)
{
    static const gpu_collective collective = {"cuda_store_matrix", true, store_one};
    access own = {(uint32_t *)registers, row, matrices, transposed};
    run_collective(&own, true, &collective);
}
