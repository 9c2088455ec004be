// SPDX-License-Identifier: Apache-2.0
// The order of accesses by different blocks of a launch: each block has a vector clock, whose entries name
// the threads that have released.
#ifndef GPU_ORDER_H
#define GPU_ORDER_H

#include <stdbool.h>
#include <stdint.h>

// An entry: `reader` sees the accesses of the block before the barrier that opened in epoch `barrier`, and the
// accesses of its agent before `epoch`.
typedef struct {
    uint32_t block, barrier, epoch;
    uint16_t agent;
    uint16_t reader; // an agent, GPU_ALL or GPU_AT_NEXT_BARRIER
} gpu_seen;

#define GPU_ALL UINT16_MAX                   // all agents of the block
#define GPU_AT_NEXT_BARRIER (UINT16_MAX - 1) // all of them, once the next barrier opens

typedef struct {
    gpu_seen *entries; // sorted by blocks and agents
    uint32_t count, capacity;
} gpu_order;

// The state of a suspended block.
typedef struct {
    uint32_t epoch, barrier;
    bool unshared;
    gpu_order known;
} gpu_kept_races;

void gpu_order_forget(gpu_order *order);
// Add the entries of `from` that the agent sees, for `reader`.
void gpu_order_merge(gpu_order *order, const gpu_order *from, uint16_t agent, uint16_t reader);
void gpu_order_add(gpu_order *order, gpu_seen seen);
// After a barrier: all agents see what any of them has seen.
void gpu_order_share(gpu_order *order);
// Whether agent `self` sees the accesses of an agent of another block in an epoch.
bool gpu_order_sees(const gpu_order *order, uint16_t self, uint32_t block, uint32_t epoch,
                    uint16_t agent);

#endif
