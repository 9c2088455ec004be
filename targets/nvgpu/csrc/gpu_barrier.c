// SPDX-License-Identifier: Apache-2.0
// The barriers of a block. They count threads; those of the hardware count whole warps.
#include <string.h>

#include "gpu_access.h"
#include "sim_device.h"

typedef struct {
    uint32_t expected, arrived;
} barrier;

static barrier barriers[GPU_BARRIER_COUNT];

void gpu_barriers_begin(void)
{
    for (int number = 0; number < GPU_BARRIER_COUNT; number++)
        barriers[number] = (barrier){0, 0};
}

_Static_assert(sizeof barriers == GPU_BARRIERS_BYTES, "the barriers that a suspended block keeps");

void gpu_barriers_keep(void *memory)
{
    memcpy(memory, barriers, sizeof barriers);
}

void gpu_barriers_bring_back(const void *memory)
{
    memcpy(barriers, memory, sizeof barriers);
}

// Settle the warps whose lanes have all arrived at a barrier, among them the running lane.
static void settle_banks(void)
{
    uint32_t own = gpu_running->number / CUDA_WARP;
    for (uint32_t i = 0; i * CUDA_WARP < gpu_thread_count; i++) {
        const gpu_warp *warp = &gpu_warps[i];
        uint32_t arrived = warp->at_barrier | (i == own ? gpu_lane_bit(gpu_running) : 0);
        if (arrived == (warp->all & ~warp->ended))
            gpu_banks_settle_warp(i);
    }
}

static void open_barrier(uint32_t number)
{
    if (gpu_counts_banks)
        settle_banks();
    barriers[number].arrived = 0;
    gpu_races_barrier();
    gpu_count(GPU_BARRIERS, 1);
    for (uint32_t i = 0; i * CUDA_WARP < gpu_thread_count; i++) {
        gpu_warp *warp = &gpu_warps[i];
        if (warp->barrier != number) // all lanes that wait do so at the same barrier
            continue;
        for (uint32_t left = warp->at_barrier; left; left &= left - 1)
            gpu_threads[i * CUDA_WARP + (uint32_t)__builtin_ctz(left)].state = GPU_READY;
        warp->at_barrier = 0;
    }
}

// Returns whether all threads have arrived.
static inline bool arrive(uint32_t number, uint32_t threads)
{
    if (number >= GPU_BARRIER_COUNT)
        sim_fault(0, "barrier %u: a block has barriers 0 to %u", number, GPU_BARRIER_COUNT - 1);
    if (threads % CUDA_WARP || threads > GPU_MAX_THREADS)
        sim_fault(0, "barrier %u for %u threads, which is not a multiple of %u up to %u", number,
                  threads, CUDA_WARP, GPU_MAX_THREADS);
    barrier *joined = &barriers[number];
    uint32_t expected = threads ? threads : gpu_thread_count;
    if (joined->arrived && joined->expected != expected)
        sim_fault(0, "barrier %u for %u threads, at which others wait for %u", number, expected,
                  joined->expected);
    joined->expected = expected;
    if (++joined->arrived < expected)
        return false;
    open_barrier(number);
    return true;
}

static _Noreturn void diverged(const gpu_warp *warp, uint32_t number)
{
    uint32_t lane = (uint32_t)__builtin_ctz(warp->at_barrier);
    if (warp->barrier != number)
        sim_fault(0, "divergence at barrier %u: lane %u of the warp is at barrier %u", number, lane,
                  warp->barrier);
    sim_fault(0, "divergence at barrier %u: lane %u of the warp is at another location in the code", number,
              lane);
}

// The lanes of a warp execute the same barrier instruction.
static inline void require_same_barrier(gpu_warp *warp, uint32_t number)
{
    uint32_t site = gpu_running->barrier_site;
    if (warp->at_barrier && (warp->barrier != number || warp->barrier_site != site))
        diverged(warp, number);
    warp->barrier = number;
    warp->barrier_site = site;
}

void cuda_next_barrier(uint32_t site)
{
    gpu_require_thread("cuda_next_barrier");
    gpu_running->barrier_site = site;
}

static inline void wait_at(uint32_t number, uint32_t threads)
{
    gpu_warp *warp = gpu_warp_of(gpu_running);
    gpu_require_converged("a barrier");
    require_same_barrier(warp, number);
    if (arrive(number, threads))
        return;
    warp->at_barrier |= gpu_lane_bit(gpu_running);
    gpu_running->barrier = number;
    gpu_wait(GPU_AT_BARRIER);
}

void cuda_barrier_sync(uint32_t number, uint32_t threads)
{
    gpu_require_thread("cuda_barrier_sync");
    wait_at(number, threads);
}

void cuda_barrier(void)
{
    cuda_barrier_sync(0, 0);
}

void cuda_barrier_at(uint32_t site)
{
    gpu_require_thread("cuda_barrier_at");
    gpu_running->barrier_site = site;
    wait_at(0, 0);
}

// Lanes continue at once, so divergence within the warp cannot be checked.
void cuda_barrier_arrive(uint32_t number, uint32_t threads)
{
    gpu_require_thread("cuda_barrier_arrive");
    if (threads == 0)
        sim_fault(0, "cuda_barrier_arrive needs the number of threads");
    arrive(number, threads);
}

bool gpu_barrier_warp_arrives(gpu_warp *warp, uint32_t site)
{
    barrier *joined = &barriers[0];
    if (joined->arrived &&
        (joined->expected != gpu_thread_count || joined->arrived + CUDA_WARP > gpu_thread_count))
        return false;
    warp->barrier = 0;
    warp->barrier_site = site;
    joined->expected = gpu_thread_count;
    joined->arrived += CUDA_WARP;
    if (joined->arrived == gpu_thread_count) {
        open_barrier(0);
        return true;
    }
    gpu_thread *lanes = &gpu_threads[(warp - gpu_warps) * CUDA_WARP];
    for (uint32_t lane = 0; lane < CUDA_WARP; lane++) {
        lanes[lane].state = GPU_AT_BARRIER;
        lanes[lane].barrier = 0;
    }
    warp->at_barrier = CUDA_ALL_LANES;
    return true;
}

static uint32_t ended_threads(void)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < gpu_thread_count; i++)
        count += gpu_threads[i].state == GPU_ENDED;
    return count;
}

void gpu_barrier_deadlock(const gpu_thread *thread)
{
    const barrier *at = &barriers[thread->barrier];
    sim_fault_with_report(gpu_thread_report(),
                          "deadlock: barrier %u waits for %u threads, of which %u have arrived; %u "
                          "threads of the block have ended",
                          thread->barrier, at->expected, at->arrived, ended_threads());
}
