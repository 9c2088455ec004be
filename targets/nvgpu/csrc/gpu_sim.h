// SPDX-License-Identifier: Apache-2.0
// The state of the simulator: one block runs at a time, and one of its threads.
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
#define GPU_LINE 64 // bytes of a line of the host's cache

// Something that lanes of a warp do together.
typedef struct {
    const char *name;
    bool aligned; // the whole warp must come
    // Do it for the lanes of a set; `arguments` has those of each lane.
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
typedef struct gpu_store gpu_store;

// What every switch and meeting needs is in the first line of the cache.
typedef struct {
    sim_fiber fiber;
    gpu_state state;
    uint32_t number; // in its block
    const gpu_collective *collective;
    uint32_t mask, variant; // of the collective: lanes must agree on them
    void *argument;
    uint32_t barrier;      // where it waits
    uint32_t barrier_site; // which of the code's, 0 where it does not say
    gpu_copy *copies;      // asynchronous ones in flight, oldest first
    uint32_t copy_count, copy_room, copy_group;
    uint32_t fences;      // that it made before asynchronous accesses
    uint32_t position[3]; // in its block
    uint32_t parity;      // of the phase for which it waits at an mbarrier
    const void *mbarrier;
    const void *looked_at;        // by its last atomic access
    uint32_t looked_value, looks; // what was there, and how often in succession
    uint32_t multiply_group, multiply_waits; // of its warpgroup: groups that it closed, and waits
    uint32_t registers, wanted_registers; // 0: it waits for none
    gpu_store *stores; // bulk stores in flight, oldest first
    uint32_t store_count, store_room, store_group;
} __attribute__((aligned(GPU_LINE))) gpu_thread;

// Sets of lanes.
typedef struct {
    uint32_t all, ended, at_barrier, in_collective;
    uint16_t steps; // how often lanes were in step
    uint32_t barrier, barrier_site; // where those at a barrier are
    uint32_t last, mask, variant;   // the lane that came to a collective last, and to which
    const gpu_collective *collective;
} __attribute__((aligned(GPU_LINE))) gpu_warp;

extern gpu_block *gpu;
extern uint64_t *gpu_counters; // of this process
extern gpu_thread gpu_threads[GPU_MAX_THREADS], *gpu_running; // NULL: no thread runs
extern gpu_warp gpu_warps[GPU_MAX_WARPS];
extern cuda_shape gpu_shape; // of the launch
extern const uint32_t *gpu_given_grid; // by the host, 0 where it leaves that to the kernel
extern const uint32_t *gpu_given_cluster; // likewise
extern uint32_t gpu_block_position[3];
extern uint32_t gpu_thread_count; // of a block

static inline void gpu_count(enum gpu_event event, uint64_t count)
{
    gpu_counters[event] += count;
}

_Noreturn void gpu_stop_outside_thread(const char *call); // gpu_launch.c
// Stop where no thread runs.
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
// Stop where the launch says that its blocks do not depend on each other.
void gpu_require_order(const char *call);
// Let others run until somebody makes this thread ready.
void gpu_wait(gpu_state state);

// gpu_report.c
// What each thread of the block waits for, a line for each; valid until the process ends.
const char *gpu_thread_report(void);

// gpu_barrier.c
void gpu_barriers_begin(void);
// Keep the barriers of a block that pauses, and bring them back.
#define GPU_BARRIERS_BYTES (GPU_BARRIER_COUNT * 8)
void gpu_barriers_keep(void *memory);
void gpu_barriers_bring_back(const void *memory);
// Stop: nobody can go on, for the reason for which this thread waits.
_Noreturn void gpu_barrier_deadlock(const gpu_thread *thread);

// gpu_warp.c
void gpu_run_collective(const gpu_collective *collective, uint32_t variant, uint32_t mask, void *argument);
// Stop where a lane of the running thread's warp waits for it elsewhere.
void gpu_require_apart(const gpu_warp *warp, const char *name);
static inline void gpu_require_converged(const char *name)
{
    const gpu_warp *warp = gpu_warp_of(gpu_running);
    if (warp->in_collective)
        gpu_require_apart(warp, name);
}
void gpu_warp_lane_ended(void); // the running thread has
_Noreturn void gpu_collective_deadlock(const gpu_thread *thread);

// gpu_memory.c; gpu_access.h has the checks
void gpu_shared_map(void);
void gpu_shared_begin(void); // of a block: it is poisoned
char *gpu_shared_memory(void);

// gpu_races.c: where the machine watches for races.
void gpu_races_open(void);
void gpu_races_launch(bool blocks_are_independent); // begins
void gpu_races_block(void);                         // begins
gpu_kept_races gpu_races_keep(void);                // a block pauses
void gpu_races_resume(const gpu_kept_races *kept);  // it goes on
void gpu_races_barrier(void);                       // opens
// The running thread reads and writes these bytes in one step; stops where that is a race.
void gpu_touch_atomic(const void *address, uint32_t nbytes);
// Blocks of a cluster: what the running thread has seen and done goes to another block, which sees it
// when its next barrier opens; and the running thread's block comes to where all meet.
void gpu_races_send(gpu_order *order);
void gpu_races_deliver(const gpu_order *order);
void gpu_races_meet(gpu_order *order);

// gpu_banks.c: where the machine counts conflicts of banks.
void gpu_banks_open(void);
void gpu_banks_launch(void);               // begins
void gpu_banks_settle_warp(uint32_t warp); // its lanes are together
void gpu_banks_settle(void);               // all warps have come as far as they will

// gpu_blocks.c: blocks that wait for others.
// Run the clusters whose numbers `next` gives, until it returns false.
void gpu_run_clusters(bool (*next)(uint64_t *cluster));
// gpu_launch.c
void gpu_begin_block(uint64_t number);
void gpu_place_block(uint64_t number);
// Run the block until it ends, or until all its threads that are left pause; whether it ended.
// `*worked` is set where a thread did more than to pause again.
bool gpu_run_block(uint32_t *live, bool *worked);
_Noreturn void gpu_pause_deadlock(void);

// Forget the block that runs, where another process goes on with it.
void gpu_abandon_block(void);

// The number of the block that runs.
uint64_t gpu_block_number(void);

// gpu_workers.c: blocks that run at the same time, in processes of their own.
// Run the blocks of a launch that are independent.
void gpu_workers_run(uint64_t blocks);
// Where such a launch has been on one core for long, start workers; called while no thread runs.
void gpu_workers_join(void);
// What this process prints.
sim_output *gpu_output(void);

// gpu_copy.c
void gpu_copies_begin(gpu_thread *thread);

// gpu_mbarrier.c
// A copy has brought bytes; the barrier's phase may end.
void gpu_mbarrier_brought(void *barrier, uint32_t nbytes);
void gpu_mbarrier_require(const void *barrier, const char *what);
_Noreturn void gpu_mbarrier_deadlock(const gpu_thread *thread);

// gpu_proxy.c: what threads have written to shared memory, and not shown to asynchronous accesses.
void gpu_proxy_begin(void); // of a block
// Stop where an asynchronous access would not see what a thread has written.
void gpu_proxy_require(const void *shared, uint32_t nbytes, const char *what);

// gpu_maps.c
bool gpu_is_launch_map(const void *map); // that this launch has made

// gpu_tma.c
void gpu_tma_begin(void);         // of a block
bool gpu_tma_land(void);          // the oldest load that is in flight; whether there was one
void gpu_tma_require_none(void);  // at the end of a block
void gpu_stores_begin(gpu_thread *thread);
void gpu_stores_require_none(const gpu_thread *thread); // at its end

// gpu_registers.c
void gpu_registers_begin(void); // of a block
_Noreturn void gpu_registers_deadlock(const gpu_thread *thread);

// gpu_wgmma.c
void gpu_warpgroups_begin(void); // of a block
_Noreturn void gpu_warpgroup_deadlock(const gpu_thread *thread);

#endif
