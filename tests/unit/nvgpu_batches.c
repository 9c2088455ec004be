// SPDX-License-Identifier: Apache-2.0
// Two warps that exchange rows by a batch between two barriers, for the tests of the simulated GPU.
#include "cuda_sim.h"

#define THREADS 64
#define ODD 35 // the thread that differs from the others

enum { RIGHT, SEPARATE_CALLS, WITHOUT_SECOND_BARRIER, MISALIGNED, ENDED, OTHER_SITE, WARP_WITHOUT_BARRIER };

// A load of one matrix, whose registers lanes need.
static const uint32_t batch[] = {CUDA_M16N8K16_F32_F16, 1, 0, 0, 0, 0, 4, 1, 0, 1};

static void load_between(char *row, uint32_t before, uint32_t after, uint32_t *word)
{
    union {
        uint32_t words[6];
        char *addresses[3];
    } own;
    own.addresses[2] = row;
    cuda_run_batch_between((const cuda_matrix_batch *)batch, own.words, before, after);
    *word = own.words[0];
}

static void load_separately(char *row, uint32_t *word)
{
    cuda_barrier_at(1);
    load_between(row, 0, 0, word);
    cuda_barrier_at(2);
}

// out[block, i] = the number that thread i of the other warp has written to shared memory, which is
// written again after the second barrier.
static void thread(const uint64_t *arguments)
{
    uint32_t number = cuda_thread_id(0), warp = number / CUDA_WARP, word, kind = (uint32_t)arguments[1];
    uint32_t *out = (uint32_t *)arguments[0] + cuda_block_id(0) * THREADS + number;
    uint32_t *shared = (uint32_t *)cuda_shared() + number;
    char *row = (char *)cuda_shared() + (1 - warp) * 128 + number % 8 * 16;
    bool odd = number == ODD;
    if (odd && kind == ENDED)
        return;
    cuda_write(shared, sizeof *shared);
    *shared = number * 3;
    uint32_t after = kind == WITHOUT_SECOND_BARRIER || (kind == WARP_WITHOUT_BARRIER && warp) ? 0 : 2;
    if (odd && kind == SEPARATE_CALLS)
        load_separately(row, &word);
    else
        load_between(odd && kind == MISALIGNED ? row + 8 : row, 1, odd && kind == OTHER_SITE ? 3 : after, &word);
    if (after) {
        cuda_write(shared, sizeof *shared);
        *shared = 0;
    }
    cuda_write(out, sizeof *out);
    *out = word;
}

void exchange(const uint64_t *arguments)
{
    static const cuda_shape shape = {{3, 1, 1}, {THREADS, 1, 1}, 4 * THREADS, {1, 1, 1}, 0, 0};
    cuda_launch(thread, arguments, &shape);
}
