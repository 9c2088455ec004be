// SPDX-License-Identifier: Apache-2.0
// Batches between barriers. A thread leaves its batch, and the barrier after it, to the scheduler, which runs
// them for a whole warp without switching to its lanes.
#include "gpu_access.h"
#include "gpu_batch.h"
#include "sim_device.h"

// What the thread itself has to do when it is resumed.
typedef enum { NOTHING, COME_TO_BARRIER, RUN_BATCH } duty;

struct gpu_deferred {
    gpu_lane_batch lane; // first: a pointer to the whole is one to it
    uint32_t after;      // the site of the barrier, 0: there is none
    duty left;
};

// Whether all lanes of a warp have left the same to the scheduler.
static bool is_whole(const gpu_warp *warp, const gpu_thread *lanes)
{
    const gpu_deferred *first = lanes[0].deferred;
    if (warp->all != CUDA_ALL_LANES || warp->ended | warp->in_collective | warp->at_barrier)
        return false;
    for (uint32_t lane = 0; lane < CUDA_WARP; lane++) {
        const gpu_deferred *own = lanes[lane].deferred;
        if (lanes[lane].state != GPU_READY || !own || own->lane.batch != first->lane.batch ||
            own->after != first->after)
            return false;
    }
    return true;
}

void gpu_run_deferred(gpu_thread *thread)
{
    gpu_warp *warp = gpu_warp_of(thread);
    gpu_thread *lanes = &gpu_threads[(warp - gpu_warps) * CUDA_WARP];
    void *given[CUDA_WARP];
    if (!is_whole(warp, lanes)) {
        thread->deferred = NULL;
        return;
    }
    for (uint32_t lane = 0; lane < CUDA_WARP; lane++) {
        given[lane] = lanes[lane].deferred;
        gpu_running = &lanes[lane];
        gpu_batch_check(given[lane]);
    }
    gpu_batch_run(given);
    warp->steps++;
    uint32_t after = ((const gpu_deferred *)given[0])->after;
    bool done = !after || gpu_barrier_warp_arrives(warp, after);
    for (uint32_t lane = 0; lane < CUDA_WARP; lane++) {
        ((gpu_deferred *)given[lane])->left = done ? NOTHING : COME_TO_BARRIER;
        lanes[lane].deferred = NULL;
    }
}

// A random order is one of the threads, and counts of bank conflicts need every meeting of a warp.
static inline bool may_defer(void)
{
    return !gpu->machine.shuffled && !gpu_counts_banks;
}

void cuda_run_batch_between(const cuda_matrix_batch *batch, uint32_t *words, uint32_t before,
                            uint32_t after)
{
    gpu_require_thread("cuda_run_batch_between");
    gpu_thread *self = gpu_running;
    gpu_deferred own = {{batch, words}, after, RUN_BATCH};
    if (may_defer())
        self->deferred = &own;
    if (before)
        cuda_barrier_at(before);
    if (self->deferred) // it opened the barrier, or there is none
        gpu_wait(GPU_READY);
    if (own.left == RUN_BATCH)
        cuda_run_batch(batch, words);
    if (own.left != NOTHING && after)
        cuda_barrier_at(after);
}
