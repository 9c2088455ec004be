// SPDX-License-Identifier: Apache-2.0
// Clusters: blocks that are resident together, wait for each other, and access each other's mbarriers and
// shared memory. An access to another block is sent as a letter, and performed when that block runs next.
#include <stdlib.h>

#include "gpu_access.h"
#include "gpu_cluster.h"
#include "sim_device.h"
#include "sim_poison.h"

#define WINDOW (1ull << 32) // address range for the shared memory of each block of a cluster

typedef struct letter letter;

struct letter {
    letter *next;
    uint64_t block;
    void *barrier; // its address in the other block
    uint32_t arrivals, nbytes;
    bool is_copy;
    gpu_load copy;
    gpu_order seen; // by the sender
};

static gpu_cluster *current;
static letter *letters, **last = &letters;
bool gpu_went_on;

static uint32_t size_in(uint32_t dimension)
{
    return gpu_shape.cluster[dimension] ? gpu_shape.cluster[dimension] : 1;
}

uint32_t gpu_cluster_size(void)
{
    return size_in(0) * size_in(1) * size_in(2);
}

static uint32_t rank_of_current(void)
{
    const uint32_t *at = gpu_block_position;
    return at[0] % size_in(0) +
           size_in(0) * (at[1] % size_in(1) + size_in(1) * (at[2] % size_in(2)));
}

uint64_t gpu_cluster_count(void)
{
    uint64_t count = 1;
    for (uint32_t dim = 0; dim < 3; dim++) {
        if (gpu_shape.grid[dim] % size_in(dim))
            sim_fault(0, "a grid of %u blocks in dimension %u, and clusters of %u", gpu_shape.grid[dim],
                      dim, size_in(dim));
        count *= gpu_shape.grid[dim] / size_in(dim);
    }
    return count;
}

uint64_t gpu_cluster_block(uint64_t cluster, uint32_t rank)
{
    uint64_t number = 0, scale = 1;
    for (uint32_t dim = 0; dim < 3; dim++) {
        uint64_t clusters = gpu_shape.grid[dim] / size_in(dim);
        number += scale * (cluster % clusters * size_in(dim) + rank % size_in(dim));
        scale *= gpu_shape.grid[dim];
        cluster /= clusters;
        rank /= size_in(dim);
    }
    return number;
}

gpu_cluster *gpu_cluster_begin(uint64_t number)
{
    gpu_cluster *made = calloc(1, sizeof *made);
    if (!made)
        sim_give_up("no memory for a cluster");
    made->number = number;
    return made;
}

void gpu_cluster_enter(gpu_cluster *cluster)
{
    current = cluster;
    cluster->begun |= 1u << rank_of_current();
}

void gpu_cluster_leave(uint64_t block)
{
    for (const letter *each = letters; each; each = each->next)
        if (each->block == block)
            sim_fault((uintptr_t)each->barrier,
                      "the block has ended, and another one of its cluster uses its shared memory");
    current->ended |= 1u << rank_of_current();
    if (current->ended == (1ull << gpu_cluster_size()) - 1)
        gpu_cluster_abandon();
}

void gpu_cluster_abandon(void)
{
    if (current)
        for (int i = 0; i < 2; i++)
            gpu_order_forget(&current->seen[i]);
    free(current);
    current = NULL;
}

static void sync(bool releases)
{
    gpu_require_thread("barrier.cluster");
    gpu_require_order("barrier.cluster");
    gpu_cluster *cluster = current;
    uint64_t generation = cluster->generation;
    gpu_order *seen = &cluster->seen[generation % 2];
    if (releases)
        gpu_races_meet(seen);
    if (++cluster->came == gpu_cluster_size() * gpu_thread_count) {
        cluster->came = 0;
        cluster->generation++;
        gpu_order_forget(&cluster->seen[cluster->generation % 2]); // all have left that generation
        gpu_count(GPU_CLUSTER_SYNCS, 1);
    }
    while (cluster->generation == generation)
        gpu_wait(GPU_PAUSED);
    gpu_went_on = true;
    if (!releases)
        return;
    gpu_races_deliver(seen);
    gpu_races_barrier();
}

void cuda_cluster_sync(void)
{
    sync(true);
}

void cuda_cluster_sync_relaxed(void)
{
    sync(false);
}

void *cuda_map_shared(const void *shared, uint32_t rank)
{
    gpu_check_shared(shared, 1, "mapa");
    if (rank >= gpu_cluster_size())
        sim_fault((uintptr_t)shared, "mapa: block %u of a cluster of %u", rank, gpu_cluster_size());
    uint64_t offset = (uintptr_t)shared - gpu->machine.shared_address;
    return (void *)(uintptr_t)(gpu->machine.shared_address + WINDOW * (rank + 1) + offset);
}

bool gpu_cluster_local(void **address, uint32_t *rank)
{
    uint64_t distance = (uintptr_t)*address - gpu->machine.shared_address;
    *rank = rank_of_current();
    if (distance < WINDOW || distance >= WINDOW * (gpu_cluster_size() + 1))
        return true;
    *rank = (uint32_t)(distance / WINDOW - 1);
    *address = (void *)(uintptr_t)(gpu->machine.shared_address + distance % WINDOW);
    return *rank == rank_of_current();
}

static letter *sent(uint32_t rank, void *barrier, const char *what)
{
    if (rank >= gpu_cluster_size())
        sim_fault((uintptr_t)barrier, "%s: block %u of a cluster of %u", what, rank, gpu_cluster_size());
    if (!(current->begun >> rank & 1))
        sim_fault((uintptr_t)barrier, "%s: block %u of the cluster has not begun", what, rank);
    if (current->ended >> rank & 1)
        sim_fault((uintptr_t)barrier, "%s: block %u of the cluster has ended", what, rank);
    letter *made = calloc(1, sizeof *made);
    if (!made)
        sim_give_up("no memory for accesses between the blocks of a cluster");
    made->block = gpu_cluster_block(current->number, rank);
    made->barrier = barrier;
    *last = made;
    last = &made->next;
    return made;
}

void gpu_cluster_arrive(uint32_t rank, void *barrier, uint32_t arrivals, uint32_t nbytes,
                        bool releases)
{
    letter *made = sent(rank, barrier, "an arrival at an mbarrier");
    made->arrivals = arrivals;
    made->nbytes = nbytes;
    if (releases)
        gpu_races_send(&made->seen);
}

void cuda_tma_load_multicast(void *shared, const void *map, void *barrier, const int32_t *coordinates,
                             uint32_t mask)
{
    static const char what[] = "a bulk load to several blocks";
    gpu_load copy = gpu_tma_checked(shared, map, barrier, coordinates);
    if (!mask || mask >> gpu_cluster_size())
        sim_fault((uintptr_t)shared, "%s: the mask 0x%x in a cluster of %u", what, mask,
                  gpu_cluster_size());
    for (uint32_t rank = 0; rank < gpu_cluster_size(); rank++) {
        if (!(mask >> rank & 1))
            continue;
        if (rank == rank_of_current()) {
            gpu_tma_take(&copy);
            continue;
        }
        letter *made = sent(rank, barrier, what);
        made->is_copy = true;
        made->copy = copy;
    }
}

void gpu_cluster_deliver(uint64_t block)
{
    letter **at = &letters;
    while (*at) {
        letter *each = *at;
        if (each->block != block) {
            at = &each->next;
            continue;
        }
        *at = each->next;
        gpu_went_on = true;
        gpu_races_deliver(&each->seen);
        if (each->is_copy)
            gpu_tma_take(&each->copy);
        else
            gpu_mbarrier_arrived(each->barrier, each->arrivals, each->nbytes);
        gpu_order_forget(&each->seen);
        free(each);
    }
    last = at;
}
