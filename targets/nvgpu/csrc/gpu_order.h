// SPDX-License-Identifier: Apache-2.0
// What orders blocks of a launch: a vector clock of each, whose entries name threads that released what
// they had seen.
#ifndef GPU_ORDER_H
#define GPU_ORDER_H

#include <stdbool.h>
#include <stdint.h>

// Of a block is seen what it did before its barrier opened in an epoch, and what an agent of it did
// before another epoch.
typedef struct {
    uint32_t block, barrier, epoch;
    uint16_t agent;
    uint16_t reader; // the agent that sees it, GPU_ALL or GPU_NOBODY_YET
} gpu_seen;

#define GPU_ALL UINT16_MAX              // all agents of the block
#define GPU_NOBODY_YET (UINT16_MAX - 1) // all of them, when the next barrier opens

typedef struct {
    gpu_seen *entries; // by blocks and agents
    uint32_t count, room;
} gpu_order;

// What a block that pauses keeps.
typedef struct {
    uint32_t epoch, barrier;
    bool unshared;
    gpu_order known;
} gpu_kept_races;

void gpu_order_forget(gpu_order *order);
// Add what `from` has that the agent sees, for a reader to see.
void gpu_order_merge(gpu_order *order, const gpu_order *from, uint16_t agent, uint16_t reader);
void gpu_order_add(gpu_order *order, gpu_seen seen);
// A barrier has opened: all agents see what one of them has seen.
void gpu_order_share(gpu_order *order);
// Whether an agent sees what an agent of another block did in an epoch.
bool gpu_order_sees(const gpu_order *order, uint16_t self, uint32_t block, uint32_t epoch,
                    uint16_t agent);

#endif
