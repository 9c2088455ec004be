// SPDX-License-Identifier: Apache-2.0
// A launch: blocks run one after another, the threads of a block in rotation.
#include "sim_device.h"
#include "sim_order.h"

#include <stdlib.h>
#include <string.h>

#include "gpu_cluster.h"

gpu_thread gpu_threads[GPU_MAX_THREADS], *gpu_running;
gpu_warp gpu_warps[GPU_MAX_WARPS];
cuda_shape gpu_shape;
const uint32_t *gpu_given_grid, *gpu_given_cluster;
uint32_t gpu_block_position[3], gpu_thread_count;

#define STACK_BYTES (128 << 10) // of a thread

static sim_stack_pool stacks = {.stack_bytes = STACK_BYTES};
static cuda_thread *code;
static const uint64_t *code_arguments;
static bool in_grid, independent;

void gpu_stop_outside_thread(const char *call)
{
    sim_fault(0, "%s called outside a thread", call);
}

void gpu_require_order(const char *call)
{
    if (independent)
        sim_fault(0, "%s in a launch whose blocks are independent", call);
}

// If the order of threads is random, one warp lags: it runs only if no other warp can, so that the others
// are as far ahead of it as barriers allow.
#define NO_WARP GPU_MAX_WARPS
static uint32_t lagging;

static uint32_t order[GPU_MAX_THREADS]; // of threads, in a round
static uint32_t turn, last_turn; // positions in the order: the next thread, and the end of its warp
static uint32_t ended_in_round;
static bool ran_deferred; // in a round

#define LINES_AHEAD 6 // cache lines of a stack that a thread uses first

// Prefetch the state of the threads after the next one, so that switches to them do not wait for it.
static inline void fetch_later(void)
{
    if (turn + 1 < last_turn)
        __builtin_prefetch(&gpu_threads[order[turn + 1]], 1);
    if (turn >= last_turn)
        return;
    const gpu_thread *next = &gpu_threads[order[turn]];
    const char *stack = next->fiber.pointer;
    __builtin_prefetch((const char *)next + GPU_LINE, 1);
    __builtin_prefetch(next->copies, 1);
    for (int line = 0; line < LINES_AHEAD; line++)
        __builtin_prefetch(stack + line * GPU_LINE, 1);
}

// The next thread that can run, NULL if the scheduler is next.
static gpu_thread *next_ready(void)
{
    while (turn < last_turn) {
        gpu_thread *thread = &gpu_threads[order[turn++]];
        if (thread->state != GPU_READY || thread->number / CUDA_WARP == lagging)
            continue;
        if (thread->deferred) {
            gpu_run_deferred(thread);
            ran_deferred = true;
        }
        if (thread->state == GPU_READY) {
            fetch_later();
            return thread;
        }
    }
    return NULL;
}

// Threads that have not begun follow each other on one stack, without a switch.
static void run_thread(void)
{
    for (;;) {
        code(code_arguments);
        gpu_thread *ended = gpu_running, *next;
        gpu_stores_require_none(ended);
        ended->state = GPU_ENDED;
        ended_in_round++;
        gpu_warp_lane_ended();
        next = next_ready();
        if (!next)
            sim_fiber_end(&ended->fiber, &stacks);
        gpu_running = next;
        sim_fiber_replace(&ended->fiber, &next->fiber, &stacks);
    }
}

void gpu_wait(gpu_state state)
{
    gpu_thread *thread = gpu_running, *next;
    thread->state = state;
    next = next_ready();
    if (!next) {
        sim_fiber_leave(&thread->fiber);
        return;
    }
    gpu_running = next;
    sim_fiber_pass(&thread->fiber, &next->fiber, &stacks, run_thread);
}

static void begin_block(void)
{
    for (uint32_t warp = 0; warp * CUDA_WARP < gpu_thread_count; warp++) {
        uint32_t lanes = gpu_thread_count - warp * CUDA_WARP;
        uint32_t all = lanes < CUDA_WARP ? (1u << lanes) - 1 : CUDA_ALL_LANES;
        gpu_warps[warp] = (gpu_warp){.all = all};
    }
    for (uint32_t i = 0; i < gpu_thread_count; i++) {
        gpu_threads[i].state = GPU_READY;
        gpu_threads[i].barrier_site = 0;
        gpu_threads[i].line = 0;
        gpu_threads[i].looked_at = NULL;
        gpu_threads[i].deferred = NULL;
        gpu_copies_begin(&gpu_threads[i]);
        gpu_stores_begin(&gpu_threads[i]);
    }
    gpu_proxy_begin();
    gpu_tma_begin();
    gpu_warpgroups_begin();
    gpu_registers_begin();
    gpu_barriers_begin();
    gpu_races_block();
    gpu_shared_begin();
    lagging = NO_WARP;
    gpu_count(GPU_BLOCKS, 1);
    gpu_count(GPU_THREADS, gpu_thread_count);
}

static _Noreturn void deadlock(void)
{
    gpu_thread *thread = gpu_threads;
    while (thread->state == GPU_ENDED)
        thread++;
    gpu_running = thread; // the fault reports its position
    if (thread->state == GPU_AT_BARRIER)
        gpu_barrier_deadlock(thread);
    if (thread->state == GPU_AT_MBARRIER)
        gpu_mbarrier_deadlock(thread);
    if (thread->state == GPU_IN_WARPGROUP)
        gpu_warpgroup_deadlock(thread);
    if (thread->state == GPU_AT_REGISTERS)
        gpu_registers_deadlock(thread);
    gpu_collective_deadlock(thread);
}

static bool several_warps_ready(void)
{
    uint32_t first = NO_WARP;
    for (uint32_t i = 0; i < gpu_thread_count; i++) {
        if (gpu_threads[i].state != GPU_READY)
            continue;
        if (first != NO_WARP && first != i / CUDA_WARP)
            return true;
        first = i / CUDA_WARP;
    }
    return false;
}

static void choose_lagging(void)
{
    uint32_t order[GPU_MAX_WARPS];
    sim_order(order, (gpu_thread_count + CUDA_WARP - 1) / CUDA_WARP);
    lagging = order[0];
}

// Run each ready thread until it waits, except those of the lagging warp. Returns whether any ran; adds the
// number of threads that ended.
static bool run_ready(uint32_t *ended)
{
    bool ran = false;
    sim_order(order, gpu_thread_count);
    ended_in_round = 0;
    ran_deferred = false;
    for (turn = 0; turn < gpu_thread_count;) {
        gpu_workers_join();
        last_turn = turn + CUDA_WARP < gpu_thread_count ? turn + CUDA_WARP : gpu_thread_count;
        for (gpu_thread *thread; (thread = next_ready());) {
            gpu_running = thread;
            sim_fiber_enter(&thread->fiber, &stacks, run_thread);
            gpu_running = NULL;
            ran = true;
        }
    }
    *ended += ended_in_round;
    return ran || ran_deferred;
}

static uint32_t paused_threads(void)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < gpu_thread_count; i++)
        count += gpu_threads[i].state == GPU_PAUSED;
    return count;
}

// Run all ready threads until they wait, and add the number of those that ended. If none is ready, the oldest
// bulk load in flight lands. Returns false if there was nothing to do.
static bool take_turns(uint32_t *ended)
{
    if (gpu->machine.shuffled && lagging == NO_WARP && several_warps_ready())
        choose_lagging();
    if (run_ready(ended))
        return true;
    lagging = NO_WARP;
    return run_ready(ended) || gpu_tma_land();
}

bool gpu_run_block(uint32_t *live, bool *worked)
{
    uint32_t paused = paused_threads();
    for (uint32_t i = 0; i < gpu_thread_count; i++)
        if (gpu_threads[i].state == GPU_PAUSED)
            gpu_threads[i].state = GPU_READY;
    for (uint32_t rounds = 0; *live; rounds++) {
        uint32_t ended = 0;
        bool ran = take_turns(&ended);
        *live -= ended;
        uint32_t still = paused_threads();
        // No progress: in the first round, the paused threads pause again, and no other thread runs.
        *worked |= gpu_went_on || (ran && (rounds || ended || still != paused));
        if (!*live) {
            gpu_tma_require_none();
            gpu_banks_settle();
        }
        if (!*live || ran)
            continue;
        if (!still && gpu_cluster_size() == 1)
            deadlock();
        return false; // it may continue after another block has run
    }
    return true;
}

void gpu_place_block(uint64_t number)
{
    gpu_block_position[0] = (uint32_t)(number % gpu_shape.grid[0]);
    gpu_block_position[1] = (uint32_t)(number / gpu_shape.grid[0] % gpu_shape.grid[1]);
    gpu_block_position[2] = (uint32_t)(number / gpu_shape.grid[0] / gpu_shape.grid[1]);
}

uint64_t gpu_block_number(void)
{
    const uint32_t *at = gpu_block_position, *grid = gpu_shape.grid;
    return at[0] + grid[0] * (at[1] + (uint64_t)grid[1] * at[2]);
}

void gpu_begin_block(uint64_t number)
{
    gpu_place_block(number);
    begin_block();
}

void gpu_abandon_block(void)
{
    for (uint32_t i = 0; i < gpu_thread_count; i++)
        sim_fiber_abandon(&gpu_threads[i].fiber, &stacks);
    gpu_cluster_abandon();
}

void cuda_pause(void)
{
    gpu_require_thread("cuda_pause");
    gpu_require_order("cuda_pause");
    gpu_count(GPU_PAUSES, 1);
    gpu_wait(GPU_PAUSED);
}

void gpu_pause_deadlock(const char *others)
{
    gpu_thread *thread = gpu_threads;
    while (thread < gpu_threads + gpu_thread_count && thread->state != GPU_PAUSED)
        thread++;
    if (thread == gpu_threads + gpu_thread_count)
        deadlock();
    gpu_running = thread; // the fault reports its position
    sim_fault_with_report(gpu_thread_report(),
                          "deadlock: all blocks that have begun wait for writes of other blocks%s", others);
}

// Clusters run in the order of their numbers, or in an order that is random within runs of this length.
#define SHUFFLED 1024

static uint64_t cluster_count, clusters_taken;

static uint64_t cluster_in_order(uint64_t at)
{
    static uint32_t order[SHUFFLED];
    uint64_t first = at / SHUFFLED * SHUFFLED;
    if (at == first) {
        uint64_t left = cluster_count - first;
        sim_order(order, left < SHUFFLED ? (uint32_t)left : SHUFFLED);
    }
    return first + order[at - first];
}

static bool next_cluster(uint64_t *cluster)
{
    if (clusters_taken == cluster_count)
        return false;
    *cluster = cluster_in_order(clusters_taken++);
    return true;
}

// Whether the blocks of this launch may run at the same time.
static bool may_share(void)
{
    const gpu_machine *machine = &gpu->machine;
    return independent && machine->cores > 1 && !machine->shuffled && !machine->races &&
           gpu_cluster_size() == 1;
}

static void require_dimensions(const char *what, const uint32_t *sizes, const uint32_t *limits)
{
    for (int dimension = 0; dimension < 3; dimension++)
        if (sizes[dimension] < 1 || sizes[dimension] > limits[dimension])
            sim_fault(0, "a %s of size %u in %c: 1 to %u are allowed", what, sizes[dimension],
                      "xyz"[dimension], limits[dimension]);
}

#define CLUSTER_BLOCKS 8 // the limit of every GPU with clusters

static void require_shape(const cuda_shape *shape)
{
    const gpu_machine *machine = &gpu->machine;
    require_dimensions("grid", shape->grid, machine->max_grid);
    require_dimensions("block", shape->block, machine->max_block);
    if (gpu_cluster_size() > CLUSTER_BLOCKS)
        sim_fault(0, "a cluster of %u blocks: %u are the limit", gpu_cluster_size(), CLUSTER_BLOCKS);
    uint64_t threads = (uint64_t)shape->block[0] * shape->block[1] * shape->block[2];
    if (threads > machine->max_block_threads)
        sim_fault(0, "a block of %llu threads: %u are the limit", (unsigned long long)threads,
                  machine->max_block_threads);
    if (shape->shared_bytes > machine->shared_bytes)
        sim_fault(0, "%u bytes of shared memory: a block has %u", shape->shared_bytes,
                  machine->shared_bytes);
}

static void number_threads(const uint32_t *block)
{
    gpu_thread_count = block[0] * block[1] * block[2];
    for (uint32_t i = 0; i < gpu_thread_count; i++) {
        gpu_threads[i].number = i;
        gpu_threads[i].position[0] = i % block[0];
        gpu_threads[i].position[1] = i / block[0] % block[1];
        gpu_threads[i].position[2] = i / block[0] / block[1];
    }
}

static void launch(cuda_thread *thread, const uint64_t *arguments, const cuda_shape *shape,
                   bool blocks_are_independent)
{
    if (in_grid)
        sim_fault(0, "cuda_launch called by a thread");
    gpu_shape = *shape;
    if (gpu_given_grid[0])
        memcpy(gpu_shape.grid, gpu_given_grid, sizeof gpu_shape.grid);
    if (gpu_given_cluster[0])
        memcpy(gpu_shape.cluster, gpu_given_cluster, sizeof gpu_shape.cluster);
    require_shape(&gpu_shape);
    in_grid = true;
    independent = blocks_are_independent;
    code = thread;
    code_arguments = arguments;
    number_threads(shape->block);
    gpu_count(GPU_LAUNCHES, 1);
    gpu_races_launch(independent);
    gpu_banks_launch();
    cluster_count = gpu_cluster_count();
    clusters_taken = 0;
    if (may_share())
        gpu_workers_run(cluster_count);
    else
        gpu_run_clusters(next_cluster);
    in_grid = false;
}

void cuda_launch(cuda_thread *thread, const uint64_t *arguments, const cuda_shape *shape)
{
    launch(thread, arguments, shape, false);
}

void cuda_launch_independent(cuda_thread *thread, const uint64_t *arguments,
                             const cuda_shape *shape)
{
    launch(thread, arguments, shape, true);
}
