// SPDX-License-Identifier: Apache-2.0
// Barriers in shared memory, which count arrivals and bytes of bulk copies.
#include <string.h>

#include "gpu_access.h"
#include "gpu_cluster.h"
#include "sim_device.h"

#define MOST_ARRIVALS ((1 << 20) - 1)
#define MOST_BYTES ((1 << 20) - 1)
#define IS_BARRIER 0x2 // differs from these bits of poison

typedef struct {
    uint64_t phase : 1, arrivals : 20, pending : 20;
    int64_t bytes : 21;
    uint64_t mark : 2;
} mbarrier;

_Static_assert(sizeof(mbarrier) == 8, "of an mbarrier");

static mbarrier *at(const void *address, const char *what)
{
    gpu_check_shared(address, sizeof(mbarrier), what);
    if ((uintptr_t)address % sizeof(mbarrier))
        sim_fault((uintptr_t)address, "%s at an address that is not a multiple of 8", what);
    return (mbarrier *)(uintptr_t)address;
}

static mbarrier *found(const void *address, const char *what)
{
    mbarrier *state = at(address, what);
    if (state->mark != IS_BARRIER || !state->arrivals || state->pending > state->arrivals)
        sim_fault((uintptr_t)address, "%s: no mbarrier was initialized there", what);
    return state;
}

void gpu_mbarrier_require(const void *barrier, const char *what)
{
    found(barrier, what);
}

void cuda_mbarrier_init(void *barrier, uint32_t arrivals)
{
    static const char what[] = "mbarrier.init";
    gpu_require_thread(what);
    if (!arrivals || arrivals > MOST_ARRIVALS)
        sim_fault((uintptr_t)barrier, "%s for %u arrivals", what, arrivals);
    *at(barrier, what) = (mbarrier){0, arrivals, arrivals, 0, IS_BARRIER};
}

static void wake(const void *barrier)
{
    for (uint32_t i = 0; i < gpu_thread_count; i++)
        if (gpu_threads[i].state == GPU_AT_MBARRIER && gpu_threads[i].mbarrier == barrier)
            gpu_threads[i].state = GPU_READY; // it checks the phase again
}

static void end_phase(mbarrier *state)
{
    if (state->pending || state->bytes)
        return;
    state->phase ^= 1;
    state->pending = state->arrivals;
    gpu_races_barrier();
    wake(state);
}

void gpu_mbarrier_brought(void *barrier, uint32_t nbytes)
{
    mbarrier *state = found(barrier, "a bulk copy's mbarrier");
    if (state->bytes - (int64_t)nbytes < -MOST_BYTES)
        sim_fault((uintptr_t)barrier, "more bytes arrive at an mbarrier than it can count");
    state->bytes -= nbytes;
    end_phase(state);
}

static void arrive(mbarrier *state, uint32_t arrivals, const char *what)
{
    if (state->pending < arrivals)
        sim_fault((uintptr_t)state, "%s: %u arrivals at a phase that waits for %u of %u", what, arrivals,
                  (uint32_t)state->pending, (uint32_t)state->arrivals);
    state->pending -= arrivals;
    gpu_count(GPU_MBARRIER_ARRIVALS, 1);
    end_phase(state);
}

static void expect(mbarrier *state, uint32_t nbytes, const char *what)
{
    if (state->bytes + (int64_t)nbytes > MOST_BYTES)
        sim_fault((uintptr_t)state, "%s of %u bytes: an mbarrier counts up to %u", what, nbytes,
                  MOST_BYTES);
    state->bytes += nbytes;
}

void gpu_mbarrier_arrived(void *barrier, uint32_t arrivals, uint32_t nbytes)
{
    static const char what[] = "an arrival from another block";
    mbarrier *state = found(barrier, what);
    expect(state, nbytes, what);
    arrive(state, arrivals, what);
}

// Arrive here, or in another block of the cluster, to which writes become visible if it `releases`.
static void arrive_at(void *barrier, uint32_t arrivals, uint32_t nbytes, bool releases,
                      const char *what)
{
    uint32_t rank;
    gpu_require_thread(what);
    if (!gpu_cluster_local(&barrier, &rank)) {
        gpu_cluster_arrive(rank, barrier, arrivals, nbytes, releases);
        return;
    }
    mbarrier *state = found(barrier, what);
    expect(state, nbytes, what);
    arrive(state, arrivals, what);
}

void cuda_mbarrier_arrive(void *barrier, uint32_t arrivals)
{
    arrive_at(barrier, arrivals, 0, true, "mbarrier.arrive");
}

void cuda_mbarrier_arrive_in_block(void *barrier, uint32_t arrivals)
{
    arrive_at(barrier, arrivals, 0, false, "mbarrier.arrive");
}

void cuda_mbarrier_expect(void *barrier, uint32_t nbytes)
{
    arrive_at(barrier, 1, nbytes, true, "mbarrier.arrive.expect_tx");
}

void cuda_mbarrier_wait(void *barrier, uint32_t parity)
{
    static const char what[] = "mbarrier.try_wait";
    gpu_require_thread(what);
    gpu_count(GPU_MBARRIER_WAITS, 1);
    if (found(barrier, what)->phase == (parity & 1))
        gpu_count(GPU_MBARRIER_STALLS, 1);
    while (found(barrier, what)->phase == (parity & 1)) {
        gpu_running->mbarrier = barrier;
        gpu_running->parity = parity & 1;
        gpu_wait(GPU_AT_MBARRIER);
    }
}

void gpu_mbarrier_deadlock(const gpu_thread *thread)
{
    const mbarrier *state = thread->mbarrier;
    sim_fault_with_report(gpu_thread_report(),
                          "deadlock: an mbarrier's phase of parity %u waits for %u of %u arrivals and "
                          "for %lld bytes",
                          thread->parity, (uint32_t)state->pending, (uint32_t)state->arrivals,
                          (long long)state->bytes);
}
