// SPDX-License-Identifier: Apache-2.0
// Batches of ldmatrix and mma.sync. The last lane of the warp to arrive reads the matrices of all loads from
// shared memory once, and assembles fragments from them and from the registers that lanes provide.
#include "gpu_batch.h"

#include <string.h>

#include "gpu_access.h"
#include "gpu_transpose.h"
#include "sim_device.h"

#define ROW_BYTES 16
#define ROWS 8
#define MATRICES 4 // the most of a load
#define A_WORDS 4
#define B_WORDS 2
#define C_WORDS 4
#define ADDRESS_WORDS 2

#define INLINE static inline __attribute__((always_inline))

typedef struct {
    uint32_t matrices, transposed, wanted;
} load;

typedef gpu_halves matrix[ROWS];

// The parts of a batch's table, and the positions of a lane's words.
typedef struct {
    const load *loads;
    const uint32_t (*a)[A_WORDS], (*b)[B_WORDS];
    const gpu_step *steps;
    uint32_t a_words, registers, b_words;
} layout;

static const struct {
    uint32_t kind;
    enum gpu_event event;
} kinds[] = {
    [GPU_F16] = {CUDA_M16N8K16_F32_F16, GPU_MMA_F16},
    [GPU_BF16] = {CUDA_M16N8K16_F32_BF16, GPU_MMA_BF16},
    [GPU_TF32] = {CUDA_M16N8K8_F32_TF32, GPU_MMA_TF32},
    [GPU_S8] = {CUDA_M16N8K32_S32_S8, GPU_MMA_S8},
};

static gpu_fragments fragments;
static matrix matrices[CUDA_BATCH * MATRICES]; // their rows, as in shared memory

static layout layout_of(const cuda_matrix_batch *batch)
{
    layout all = {.loads = (const load *)batch->table};
    all.a = (const uint32_t (*)[A_WORDS])(all.loads + batch->loads);
    all.b = (const uint32_t (*)[B_WORDS])(all.a + batch->a);
    all.steps = (const gpu_step *)(all.b + batch->b);
    all.a_words = C_WORDS * batch->c;
    all.registers = all.a_words;
    for (uint32_t i = 0; i < batch->a; i++)
        all.registers += all.a[i][0] == CUDA_FROM_WORDS ? A_WORDS : 0;
    all.b_words = all.registers;
    for (uint32_t i = 0; i < batch->loads; i++)
        all.b_words += all.loads[i].wanted ? MATRICES : 0;
    return all;
}

static inline const void *row_of(const cuda_matrix_batch *batch, const uint32_t *words, uint32_t number)
{
    const void *row;
    memcpy(&row, words + batch->addresses + number * ADDRESS_WORDS, sizeof row);
    return row;
}

INLINE void read_matrices(const cuda_matrix_batch *batch, const layout *all, uint32_t *const *lanes)
{
    const char *rows[CUDA_WARP];
    for (uint32_t number = 0; number < batch->loads; number++) {
        uint32_t count = all->loads[number].matrices;
        for (uint32_t lane = 0; lane < count * ROWS; lane++) {
            rows[lane] = row_of(batch, lanes[lane], number);
            memcpy(&matrices[number * MATRICES + lane / ROWS][lane % ROWS], rows[lane], ROW_BYTES);
        }
        gpu_access_rows(rows, count, GPU_LOADED_MATRIX_CONFLICTS);
        gpu_count(GPU_LOADED_MATRICES, count);
        gpu_count(GPU_SHARED_READ_BYTES, count * ROWS * ROW_BYTES);
    }
}

// A matrix in the layout of lanes, in which lane l holds a word of row l / 4; with `columns`, its transpose.
INLINE void take(const layout *all, uint32_t number, bool columns, matrix taken)
{
    memcpy(taken, matrices[number], sizeof(matrix));
    if ((all->loads[number / MATRICES].transposed != 0) != columns)
        gpu_transpose_halves(taken);
}

// Store the registers of a load for the lanes that need them; registers without a matrix become 0.
INLINE void give_registers(const layout *all, uint32_t number, uint32_t *const *lanes, uint32_t word)
{
    matrix each[MATRICES];
    uint32_t count = all->loads[number].matrices;
    for (uint32_t i = 0; i < MATRICES; i++)
        if (i < count)
            take(all, number * MATRICES + i, false, each[i]);
        else
            memset(each[i], 0, sizeof each[i]);
    for (uint32_t row = 0; row < ROWS; row++) {
        gpu_words words[4] = {(gpu_words)each[0][row], (gpu_words)each[1][row], (gpu_words)each[2][row],
                              (gpu_words)each[3][row]};
        gpu_transpose_words(words);
        for (uint32_t i = 0; i < 4; i++)
            memcpy(lanes[row * 4 + i] + word, &words[i], sizeof words[i]);
    }
}

// Assemble a matrix from the words of all lanes at a position.
INLINE void gather(uint32_t *const *lanes, uint32_t word, matrix to)
{
    for (uint32_t row = 0; row < ROWS; row++)
        for (uint32_t i = 0; i < 4; i++)
            memcpy((char *)&to[row] + 4 * i, lanes[row * 4 + i] + word, 4);
}

// Registers alternate between rows g and g + 8, first in the left half of the rows, then in the right half.
INLINE void place_a(const matrix *parts, char to[GPU_ROWS][GPU_FRAGMENT_BYTES])
{
    for (uint32_t i = 0; i < A_WORDS; i++)
        for (uint32_t row = 0; row < ROWS; row++)
            memcpy(to[row + i % 2 * ROWS] + i / 2 * ROW_BYTES, &parts[i][row], ROW_BYTES);
}

INLINE void read_a(const cuda_matrix_batch *batch, const layout *all, uint32_t *const *lanes)
{
    uint32_t word = all->a_words;
    for (uint32_t i = 0; i < batch->a; i++) {
        matrix parts[A_WORDS];
        bool from_words = all->a[i][0] == CUDA_FROM_WORDS;
        for (uint32_t part = 0; part < A_WORDS; part++)
            if (from_words)
                gather(lanes, word + part, parts[part]);
            else
                take(all, all->a[i][part], false, parts[part]);
        word += from_words ? A_WORDS : 0;
        place_a(parts, fragments.a[i]);
    }
}

INLINE void read_b(const cuda_matrix_batch *batch, const layout *all, uint32_t *const *lanes, bool halves)
{
    uint32_t word = all->b_words;
    for (uint32_t i = 0; i < batch->b; i++)
        for (uint32_t part = 0; part < B_WORDS; part++) {
            matrix found;
            if (all->b[i][part] != CUDA_FROM_WORDS)
                take(all, all->b[i][part], halves, found);
            else {
                gather(lanes, word++, found);
                if (halves)
                    gpu_transpose_halves(found);
            }
            for (uint32_t row = 0; row < ROWS; row++)
                memcpy(fragments.b[i] + (halves ? part * sizeof found + row * ROW_BYTES
                                                : row * GPU_FRAGMENT_BYTES + part * ROW_BYTES),
                       &found[row], ROW_BYTES);
        }
}

INLINE void read_sums(uint32_t count, uint32_t *const *lanes)
{
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t lane = 0; lane < CUDA_WARP; lane++) {
            const uint32_t *own = lanes[lane] + C_WORDS * i;
            memcpy(&fragments.c[i][lane / 4][lane % 4 * 2], own, 8);
            memcpy(&fragments.c[i][lane / 4 + 8][lane % 4 * 2], own + 2, 8);
        }
}

INLINE void write_sums(uint32_t count, uint32_t *const *lanes)
{
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t lane = 0; lane < CUDA_WARP; lane++) {
            uint32_t *own = lanes[lane] + C_WORDS * i;
            memcpy(own, &fragments.c[i][lane / 4][lane % 4 * 2], 8);
            memcpy(own + 2, &fragments.c[i][lane / 4 + 8][lane % 4 * 2], 8);
        }
}

static gpu_operand operand_of(uint32_t kind)
{
    gpu_operand operand = GPU_F16;
    while (operand < GPU_S8 && kinds[operand].kind != kind)
        operand++;
    return operand;
}

static void require_known(const cuda_matrix_batch *batch)
{
    if (batch->kind != kinds[operand_of(batch->kind)].kind)
        sim_fault(0, "cuda_mma of the unknown kind %u", batch->kind);
    if (batch->loads > CUDA_BATCH || batch->a > CUDA_BATCH || batch->b > CUDA_BATCH || batch->c > CUDA_BATCH)
        sim_fault(0, "a batch of more than %u loads or fragments of an operand", CUDA_BATCH);
    for (uint32_t number = 0; number < batch->loads; number++)
        if (((const load *)batch->table)[number].matrices > MATRICES)
            sim_fault(0, "cuda_load_matrix of more than %u matrices", MATRICES);
}

__attribute__((optimize("O3"))) void gpu_batch_run(void *const *given)
{
    const cuda_matrix_batch *batch = ((const gpu_lane_batch *)given[0])->batch;
    require_known(batch);
    gpu_operand operand = operand_of(batch->kind);
    layout all = layout_of(batch);
    uint32_t *lanes[CUDA_WARP], word = all.registers;
    for (uint32_t lane = 0; lane < CUDA_WARP; lane++)
        lanes[lane] = ((const gpu_lane_batch *)given[lane])->words;
    read_matrices(batch, &all, lanes);
    for (uint32_t i = 0; i < batch->loads; i++)
        if (all.loads[i].wanted) {
            give_registers(&all, i, lanes, word);
            word += MATRICES;
        }
    if (!batch->steps)
        return;
    read_a(batch, &all, lanes);
    read_b(batch, &all, lanes, operand == GPU_F16 || operand == GPU_BF16);
    read_sums(batch->c, lanes);
    gpu_multiply(operand, &fragments, batch, all.steps);
    write_sums(batch->c, lanes);
    gpu_count(kinds[operand].event, batch->steps);
    gpu_count(kinds[operand].event + (GPU_MMA_F16_MACS - GPU_MMA_F16),
              (uint64_t)GPU_ROWS * GPU_COLUMNS * gpu_inner(operand) * batch->steps);
}

void gpu_batch_check(const gpu_lane_batch *own)
{
    static const char what[] = "cuda_load_matrix";
    const cuda_matrix_batch *batch = own->batch;
    const load *loads = (const load *)batch->table;
    uint32_t lane = gpu_running->number % CUDA_WARP;
    for (uint32_t number = 0; number < batch->loads; number++) {
        if (lane >= ROWS * loads[number].matrices)
            continue;
        const void *row = row_of(batch, own->words, number);
        gpu_check_alignment(row, ROW_BYTES, what);
        gpu_check_shared(row, ROW_BYTES, what);
        gpu_touch(row, ROW_BYTES, false);
    }
}

static void run(void *const *arguments, uint32_t lanes)
{
    (void)lanes;
    gpu_batch_run(arguments);
}

void cuda_run_batch(const cuda_matrix_batch *batch, uint32_t *words)
{
    static const gpu_collective loading = {"cuda_load_matrix", true, run};
    static const gpu_collective multiplying = {"cuda_mma", true, run};
    const gpu_collective *collective = batch->loads ? &loading : &multiplying;
    gpu_lane_batch own = {batch, words};
    gpu_require_thread(collective->name);
    gpu_batch_check(&own);
    gpu_run_collective(collective, (uint32_t)(uintptr_t)batch, CUDA_ALL_LANES, &own);
}
