// SPDX-License-Identifier: Apache-2.0
// The memory that the driver and the simulator of a GPU share: machine parameters and counters.
#ifndef GPU_BLOCK_H
#define GPU_BLOCK_H

#include <stdint.h>

#define GPU_MAX_THREADS 1024 // of a block
#define GPU_MAX_WORKERS 64   // processes that run blocks of a launch

// The machine parameters, which the runtime takes from the machine's description and the options.
typedef struct {
    uint32_t max_block_threads;
    uint32_t max_block[3], max_grid[3];
    uint64_t shared_address; // of the shared memory of a block
    uint32_t shared_bytes;   // the most shared memory of a block
    uint32_t sms, threads_sm, blocks_sm, shared_bytes_sm; // multiprocessors, and the most that each holds
    uint32_t shuffled;       // whether the order of blocks and threads is random
    uint32_t races;          // whether unordered conflicting accesses are faults
    uint32_t banks;          // whether bank conflicts in shared memory are counted
    uint64_t seed;
    uint32_t cores;          // the number of cores that run blocks of a launch
    uint64_t alone_ns;       // the time that a launch runs on one core before it uses all
} gpu_machine;

// Counters of machines that count bank conflicts; they come last.
#define GPU_BANK_EVENTS(X)                                                                        \
    X(SHARED_READ_CONFLICTS) X(SHARED_WRITE_CONFLICTS) X(ASYNC_COPY_CONFLICTS)                     \
    X(LOADED_MATRIX_CONFLICTS) X(STORED_MATRIX_CONFLICTS) X(UNGROUPED_ACCESSES)                    \
    X(GLOBAL_READ_REQUESTS) X(GLOBAL_READ_SECTORS) X(GLOBAL_WRITE_REQUESTS) X(GLOBAL_WRITE_SECTORS)

// Exact counts for the whole device. An instruction of a warp counts once, a barrier once for all its
// threads.
#define GPU_EVENTS(X)                                                                             \
    X(LAUNCHES) X(BLOCKS) X(THREADS) X(BARRIERS) X(WARP_SYNCS) X(SHUFFLES) X(BALLOTS)              \
    X(GLOBAL_READS) X(GLOBAL_READ_BYTES) X(GLOBAL_WRITES) X(GLOBAL_WRITE_BYTES)                    \
    X(SHARED_READS) X(SHARED_READ_BYTES) X(SHARED_WRITES) X(SHARED_WRITE_BYTES)                    \
    X(ATOMICS) X(PAUSES)                                                                          \
    X(ASYNC_COPIES) X(ASYNC_COPY_BYTES) X(LOADED_MATRICES) X(STORED_MATRICES)                      \
    X(MMA_F16) X(MMA_BF16) X(MMA_TF32) X(MMA_S8) X(MMA_F64)                                       \
    X(MMA_F16_MACS) X(MMA_BF16_MACS) X(MMA_TF32_MACS) X(MMA_S8_MACS) X(MMA_F64_MACS)             \
    X(MBARRIER_ARRIVALS) X(MBARRIER_WAITS) X(MBARRIER_STALLS) X(PROXY_FENCES)                      \
    X(CLUSTER_SYNCS) X(TMA_LOADS) X(TMA_LOAD_BYTES) X(TMA_STORES) X(TMA_STORE_BYTES)               \
    X(WGMMA_F16) X(WGMMA_BF16) X(WGMMA_E4M3) X(WGMMA_E5M2) X(WGMMA_TF32)                           \
    X(WGMMA_S8) X(WGMMA_U8)                                                                        \
    X(WGMMA_F16_MACS) X(WGMMA_BF16_MACS) X(WGMMA_E4M3_MACS) X(WGMMA_E5M2_MACS)                     \
    X(WGMMA_TF32_MACS) X(WGMMA_S8_MACS) X(WGMMA_U8_MACS) GPU_BANK_EVENTS(X)

#define GPU_ENUM(name) GPU_##name,
enum gpu_event { GPU_EVENTS(GPU_ENUM) GPU_EVENT_COUNT };

typedef struct {
    gpu_machine machine;
    uint64_t counters[GPU_EVENT_COUNT];
} gpu_block;

#endif
