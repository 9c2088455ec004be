// SPDX-License-Identifier: Apache-2.0
// Clusters, and accesses between their blocks.
#ifndef GPU_CLUSTER_H
#define GPU_CLUSTER_H

#include "gpu_sim.h"

typedef struct {
    uint64_t number, generation;
    uint32_t came;         // threads that wait for the end of the generation
    uint32_t begun, ended; // blocks, a bit for each rank
    gpu_order seen[2];     // by threads that wait, in even and in odd generations
} gpu_cluster;

uint32_t gpu_cluster_size(void);  // of the launch, in blocks
uint64_t gpu_cluster_count(void); // of the launch
uint64_t gpu_cluster_block(uint64_t cluster, uint32_t rank); // the number of a block

gpu_cluster *gpu_cluster_begin(uint64_t number);
void gpu_cluster_enter(gpu_cluster *cluster); // the running block belongs to it
void gpu_cluster_leave(uint64_t block);       // the running block has ended
void gpu_cluster_abandon(void);               // forget the current one

// Set when a suspended block makes progress.
extern bool gpu_went_on;

// Whether an address in shared memory belongs to the running block. The address becomes the one that the
// block of this rank uses.
bool gpu_cluster_local(void **address, uint32_t *rank);
// Arrive at an mbarrier of another block, to which writes of the thread become visible if it `releases`.
void gpu_cluster_arrive(uint32_t rank, void *barrier, uint32_t arrivals, uint32_t nbytes,
                        bool releases);
// Perform the accesses that other blocks have sent to the running block.
void gpu_cluster_deliver(uint64_t block);

// gpu_tma.c
typedef struct {
    cuda_tensor_map map;
    int32_t coordinates[5];
    char *shared;
} gpu_box;

typedef struct {
    gpu_box what;
    void *barrier;
} gpu_load;

gpu_load gpu_tma_checked(void *shared, const void *map, void *barrier, const int32_t *coordinates);
void gpu_tma_take(const gpu_load *bulk); // from now on it is in flight

// gpu_mbarrier.c
void gpu_mbarrier_arrived(void *barrier, uint32_t arrivals, uint32_t nbytes);

#endif
