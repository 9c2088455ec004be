// SPDX-License-Identifier: Apache-2.0
// The state of the simulator. One thread of one block runs at a time.
#ifndef GPU_SIM_H
#define GPU_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda_sim.h"
#include "gpu_block.h"
#include "gpu_order.h"
#include "sim_fiber.h"
#include "sim_output.h"

#define GPU_MAX_WARPS (GPU_MAX_THREADS / CUDA_WARP)
#define GPU_BARRIER_COUNT 16
#define GPU_LINE 64 // bytes of a cache line of the host

// A warp collective: an instruction that lanes of a warp execute together.
typedef struct {
    const char *name;
    bool aligned; // whether the whole warp has to execute it
    // Execute it for a set of lanes; `arguments` is indexed by lane.
    void (*run)(void *const *arguments, uint32_t lanes);
} gpu_collective;

typedef enum {
    GPU_READY,
    GPU_AT_BARRIER,
    GPU_AT_MBARRIER,
    GPU_IN_MEETING,
    GPU_IN_WARPGROUP,
    GPU_AT_REGISTERS,
    GPU_PAUSED,
    GPU_ENDED,
} gpu_state;

typedef struct gpu_copy gpu_copy;
typedef struct gpu_deferred gpu_deferred;
typedef struct gpu_store gpu_store;

// The first cache line holds what each switch and each warp collective needs.
typedef struct {
    sim_fiber fiber;
    gpu_state state;
    uint32_t number; // in its block
    const gpu_collective *collective;
    uint32_t mask, variant; // of the collective, equal in all its lanes
    void *argument;
    uint32_t barrier;       // at which it waits
    uint32_t barrier_site;  // of its next barrier in the code; 0: unknown
    uint32_t line;          // of the user's, that it has come to; 0: unknown
    gpu_deferred *deferred; // the batch that it leaves to the scheduler, or NULL
    gpu_copy *copies;       // asynchronous copies in flight, oldest first
    uint32_t copy_count, copy_room, copy_group;
    uint32_t fences;      // its proxy fences
    uint32_t position[3]; // in its block
    uint32_t parity;      // of the phase for which it waits at an mbarrier
    const void *mbarrier;
    const void *looked_at;        // the address of its last atomic access
    uint32_t looked_value, looks; // the value there, and how often it was found in succession
    uint32_t multiply_group, multiply_waits; // of wgmma: groups committed, and waits
    uint32_t registers, wanted_registers; // the latter is 0 unless it waits for registers
    gpu_store *stores; // bulk stores in flight, oldest first
    uint32_t store_count, store_room, store_group;
} __attribute__((aligned(GPU_LINE))) gpu_thread;

// A warp, with sets of its lanes.
typedef struct {
    uint32_t all, ended, at_barrier, in_collective;
    uint16_t steps; // the number of collectives so far
    uint32_t barrier, barrier_site; // of lanes that wait at a barrier
    uint32_t last, mask, variant;   // the last lane to arrive at a collective, and that collective
    const gpu_collective *collective;
} __attribute__((aligned(GPU_LINE))) gpu_warp;

extern gpu_block *gpu;
extern uint64_t *gpu_counters; // of this process
extern gpu_thread gpu_threads[GPU_MAX_THREADS], *gpu_running; // NULL: no thread runs
extern gpu_warp gpu_warps[GPU_MAX_WARPS];
extern cuda_shape gpu_shape; // of the launch
extern const uint32_t *gpu_given_grid;    // by the host; 0: the kernel sets it
extern const uint32_t *gpu_given_cluster; // likewise
extern uint32_t gpu_block_position[3];
extern uint32_t gpu_thread_count; // of a block

static inline void gpu_count(enum gpu_event event, uint64_t count)
{
    gpu_counters[event] += count;
}

_Noreturn void gpu_stop_outside_thread(const char *call); // gpu_launch.c
// Stop unless a thread runs.
static inline void gpu_require_thread(const char *call)
{
    if (!gpu_running)
        gpu_stop_outside_thread(call);
}

static inline gpu_warp *gpu_warp_of(const gpu_thread *thread)
{
    return &gpu_warps[thread->number / CUDA_WARP];
}

static inline uint32_t gpu_lane_bit(const gpu_thread *thread)
{
    return 1u << thread->number % CUDA_WARP;
}

// gpu_launch.c
// Stop if the blocks of the launch are independent.
void gpu_require_order(const char *call);
// Let other threads run until one of them makes this thread ready.
void gpu_wait(gpu_state state);

// gpu_report.c
// The cause of each thread's wait, a line per thread of the block; valid until the process ends.
const char *gpu_thread_report(void);

// gpu_barrier.c
void gpu_barriers_begin(void);
// Save and restore the barriers of a block that is suspended.
#define GPU_BARRIERS_BYTES (GPU_BARRIER_COUNT * 8)
void gpu_barriers_keep(void *memory);
void gpu_barriers_bring_back(const void *memory);
// Report a deadlock by the cause of this thread's wait.
_Noreturn void gpu_barrier_deadlock(const gpu_thread *thread);
// Let all lanes of a warp, none of which waits, arrive at barrier 0 for the whole block, at this site. Returns
// false, without an effect, if they have to arrive one after another.
bool gpu_barrier_warp_arrives(gpu_warp *warp, uint32_t site);

// gpu_deferred.c: batches that the scheduler runs between barriers.
// If all lanes of the warp of a ready thread have left the same batch to the scheduler, run it, and let them
// arrive at the barrier after it. Otherwise let the thread run the batch itself.
void gpu_run_deferred(gpu_thread *thread);

// gpu_warp.c
void gpu_run_collective(const gpu_collective *collective, uint32_t variant, uint32_t mask, void *argument);
// Stop if a lane of the running thread's warp waits for it at a collective.
void gpu_require_apart(const gpu_warp *warp, const char *name);
static inline void gpu_require_converged(const char *name)
{
    const gpu_warp *warp = gpu_warp_of(gpu_running);
    if (warp->in_collective)
        gpu_require_apart(warp, name);
}
void gpu_warp_lane_ended(void); // the running thread has ended
_Noreturn void gpu_collective_deadlock(const gpu_thread *thread);

// gpu_memory.c; gpu_access.h has the checks
void gpu_shared_map(void);
void gpu_shared_begin(void); // poison it for a block
char *gpu_shared_memory(void);

// gpu_races.c: detection of races, if the machine has it.
void gpu_races_open(void);
void gpu_races_launch(bool blocks_are_independent); // a launch begins
void gpu_races_block(void);                         // a block begins
gpu_kept_races gpu_races_keep(void);                // the block is suspended
void gpu_races_resume(const gpu_kept_races *kept);  // the block continues
void gpu_races_barrier(void);                       // a barrier opens
// The running thread accesses these bytes atomically; stops if that is a race.
void gpu_touch_atomic(const void *address, uint32_t nbytes);
// Order between blocks of a cluster: release to a block, deliver to its next barrier, synchronize all.
void gpu_races_send(gpu_order *order);
void gpu_races_deliver(const gpu_order *order);
void gpu_races_meet(gpu_order *order);

// gpu_banks.c: counts of bank conflicts, if the machine has them.
void gpu_banks_open(void);
void gpu_banks_launch(void);               // a launch begins
void gpu_banks_settle_warp(uint32_t warp); // its lanes have synchronized
void gpu_banks_settle(void);               // the block ends or is suspended

// gpu_blocks.c: blocks that wait for each other.
// Run the clusters whose numbers `next` returns, until it returns false.
void gpu_run_clusters(bool (*next)(uint64_t *cluster));
// gpu_launch.c
void gpu_begin_block(uint64_t number);
void gpu_place_block(uint64_t number);
// Run the block until it ends, or until all remaining threads pause. Returns whether it ended, and sets
// `*worked` if it made progress.
bool gpu_run_block(uint32_t *live, bool *worked);
_Noreturn void gpu_pause_deadlock(const char *others);

// Forget the running block, because another process continues it.
void gpu_abandon_block(void);

// The number of the running block.
uint64_t gpu_block_number(void);

// gpu_workers.c: blocks that run at the same time, in separate processes.
// Run the independent blocks of a launch.
void gpu_workers_run(uint64_t blocks);
// Start workers if such a launch has run on one core for long; called while no thread runs.
void gpu_workers_join(void);
// The output of this process.
sim_output *gpu_output(void);

// gpu_copy.c
void gpu_copies_begin(gpu_thread *thread);

// gpu_mbarrier.c
// Bytes of a copy have arrived; the phase may complete.
void gpu_mbarrier_brought(void *barrier, uint32_t nbytes);
void gpu_mbarrier_require(const void *barrier, const char *what);
_Noreturn void gpu_mbarrier_deadlock(const gpu_thread *thread);

// gpu_proxy.c: writes to shared memory that are not visible to asynchronous accesses yet.
void gpu_proxy_begin(void); // a block begins
// Stop if such a write would be invisible to an asynchronous access.
void gpu_proxy_require(const void *shared, uint32_t nbytes, const char *what);

// gpu_maps.c
bool gpu_is_launch_map(const void *map); // whether this launch has created it

// gpu_tma.c
void gpu_tma_begin(void);        // a block begins
bool gpu_tma_land(void);         // complete the oldest load in flight; returns whether there was one
void gpu_tma_require_none(void); // a block ends
void gpu_stores_begin(gpu_thread *thread);
void gpu_stores_require_none(const gpu_thread *thread); // the thread ends

// gpu_registers.c
void gpu_registers_begin(void); // a block begins
_Noreturn void gpu_registers_deadlock(const gpu_thread *thread);

// gpu_wgmma.c
void gpu_warpgroups_begin(void); // a block begins
void *gpu_warpgroups_keep(void); // a block is suspended
void gpu_warpgroups_bring_back(void *kept);
_Noreturn void gpu_warpgroup_deadlock(const gpu_thread *thread);

#endif
