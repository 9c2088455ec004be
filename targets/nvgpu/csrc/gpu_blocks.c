// SPDX-License-Identifier: Apache-2.0
// The blocks of a grid. A block runs until it ends or is suspended; the state of suspended blocks is kept here.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_cluster.h"
#include "sim_device.h"

// The most blocks, and threads, that have begun and not ended. The stack of a thread takes two memory mappings, of
// which Linux allows a process 65530 (vm.max_map_count).
#define RESIDENT_BLOCKS 256
#define RESIDENT_THREADS 30000

typedef struct kept kept;

struct kept {
    kept *next;
    uint64_t number;
    gpu_cluster *cluster;
    uint32_t live;
    void *threads;
    char warps[GPU_MAX_WARPS * sizeof(gpu_warp)];
    char barriers[GPU_BARRIERS_BYTES];
    char *shared;
    void *warpgroups;
    gpu_kept_races races;
};

static void *memory(size_t nbytes)
{
    void *found = malloc(nbytes ? nbytes : 1);
    if (!found)
        sim_give_up("no memory for a block that waits for others");
    return found;
}

static kept *put_aside(uint64_t number, gpu_cluster *cluster, uint32_t live)
{
    gpu_banks_settle();
    kept *block = memory(sizeof *block);
    size_t threads = gpu_thread_count * sizeof *gpu_threads;
    *block = (kept){.number = number, .cluster = cluster, .live = live};
    block->threads = memory(threads);
    memcpy(block->threads, gpu_threads, threads);
    for (uint32_t i = 0; i < gpu_thread_count; i++) { // the block keeps its stacks and copies
        gpu_threads[i].fiber = (sim_fiber){0};
        gpu_threads[i].copies = NULL;
        gpu_threads[i].copy_room = gpu_threads[i].copy_count = 0;
        gpu_threads[i].stores = NULL;
        gpu_threads[i].store_room = gpu_threads[i].store_count = 0;
    }
    memcpy(block->warps, gpu_warps, sizeof block->warps);
    gpu_barriers_keep(block->barriers);
    block->warpgroups = gpu_warpgroups_keep();
    block->races = gpu_races_keep();
    block->shared = memory(gpu_shape.shared_bytes);
    memcpy(block->shared, gpu_shared_memory(), gpu_shape.shared_bytes);
    return block;
}

static void bring_back(kept *block)
{
    for (uint32_t i = 0; i < gpu_thread_count; i++) {
        free(gpu_threads[i].copies);
        free(gpu_threads[i].stores);
    }
    memcpy(gpu_threads, block->threads, gpu_thread_count * sizeof *gpu_threads);
    memcpy(gpu_warps, block->warps, sizeof block->warps);
    gpu_barriers_bring_back(block->barriers);
    memcpy(gpu_shared_memory(), block->shared, gpu_shape.shared_bytes);
    gpu_warpgroups_bring_back(block->warpgroups);
    gpu_place_block(block->number);
    gpu_races_resume(&block->races);
    gpu_proxy_begin();
    gpu_cluster_enter(block->cluster);
    gpu_cluster_deliver(block->number);
    free(block->threads);
    free(block->shared);
    free(block);
}

static kept *waiting, **last = &waiting;
static uint32_t waiting_count;

// Run the current block until it ends or is suspended. Returns whether it made progress.
static bool run(uint64_t number, gpu_cluster *cluster, uint32_t live)
{
    bool worked = false, ended = gpu_run_block(&live, &worked);
    gpu_went_on = false;
    if (ended) {
        gpu_cluster_leave(number);
        return true;
    }
    *last = put_aside(number, cluster, live);
    last = &(*last)->next;
    waiting_count++;
    return worked;
}

static bool resume_first(void)
{
    kept *block = waiting;
    waiting = block->next;
    if (!waiting)
        last = &waiting;
    waiting_count--;
    uint64_t number = block->number;
    uint32_t live = block->live;
    gpu_cluster *cluster = block->cluster;
    bring_back(block);
    return run(number, cluster, live);
}

// Resume each suspended block. Returns whether one of them made progress.
static bool resume_all(void)
{
    bool worked = false;
    for (uint32_t left = waiting_count; left; left--)
        worked |= resume_first();
    return worked;
}

// The blocks that the GPU holds at the same time: a block waits in vain for another one that begins only when
// one of these has ended. The compiler may know fewer than fit by their threads and their shared memory.
static uint32_t held_blocks(void)
{
    if (gpu_shape.resident)
        return gpu_shape.resident;
    const gpu_machine *machine = &gpu->machine;
    uint32_t warps = (gpu_thread_count + CUDA_WARP - 1) / CUDA_WARP;
    uint32_t reserved = machine->shared_bytes_sm - machine->shared_bytes; // by the system for a block
    uint32_t unit = 128, shared = (gpu_shape.shared_bytes + reserved + unit - 1) / unit * unit;
    uint32_t most = machine->threads_sm / CUDA_WARP / warps;
    if (most > machine->blocks_sm)
        most = machine->blocks_sm;
    if (most > machine->shared_bytes_sm / shared)
        most = machine->shared_bytes_sm / shared;
    return most * machine->sms;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t simulated_blocks(void)
{
    return least(RESIDENT_BLOCKS, RESIDENT_THREADS / gpu_thread_count);
}

// Why some blocks have not begun.
static const char *others_of(uint64_t left)
{
    static char text[160];
    bool holds = held_blocks() <= simulated_blocks();
    snprintf(text, sizeof text, ", and %llu have not begun: the %s holds %u blocks of %u threads at a time",
             (unsigned long long)left, holds ? "GPU" : "simulator", least(held_blocks(), simulated_blocks()),
             gpu_thread_count);
    return left ? text : "";
}

// Resume suspended blocks until at most that many are left; others have not begun.
static void resume_until(uint32_t most, uint64_t others)
{
    while (waiting_count > most)
        if (!resume_all()) {
            bring_back(waiting);
            gpu_pause_deadlock(others_of(others));
        }
}

void gpu_run_clusters(bool (*next)(uint64_t *cluster))
{
    uint32_t size = gpu_cluster_size();
    uint32_t most = least(held_blocks(), simulated_blocks());
    uint64_t taken, left = gpu_cluster_count() * size;
    waiting = NULL;
    last = &waiting;
    waiting_count = 0;
    while (next(&taken)) {
        resume_until(most > size ? most - size : 0, left);
        left -= size;
        gpu_cluster *cluster = gpu_cluster_begin(taken);
        for (uint32_t rank = 0; rank < size; rank++) {
            uint64_t number = gpu_cluster_block(cluster->number, rank);
            gpu_begin_block(number);
            gpu_cluster_enter(cluster);
            run(number, cluster, gpu_thread_count);
        }
    }
    resume_until(0, 0);
}
