// SPDX-License-Identifier: Apache-2.0
#include "gpu_order.h"

#include <stdlib.h>
#include <string.h>

#include "gpu_sim.h"
#include "sim_device.h"

void gpu_order_forget(gpu_order *order)
{
    free(order->entries);
    *order = (gpu_order){0};
}

static bool is_visible(const gpu_seen *seen, uint16_t agent)
{
    if (seen->reader == GPU_ALL || agent == GPU_ALL)
        return seen->reader != GPU_AT_NEXT_BARRIER;
    return seen->reader / CUDA_WARP == agent / CUDA_WARP && seen->reader != GPU_AT_NEXT_BARRIER;
}

static bool is_less(const gpu_seen *a, const gpu_seen *b)
{
    if (a->block != b->block)
        return a->block < b->block;
    return a->agent != b->agent ? a->agent < b->agent : a->reader < b->reader;
}

// The first entry that is not less.
static uint32_t position_of(const gpu_order *order, const gpu_seen *seen)
{
    uint32_t low = 0, high = order->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (is_less(&order->entries[middle], seen))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void gpu_order_add(gpu_order *order, gpu_seen seen)
{
    uint32_t at = position_of(order, &seen);
    gpu_seen *entry = order->entries + at;
    if (at < order->count && !is_less(&seen, entry)) {
        entry->barrier = entry->barrier < seen.barrier ? seen.barrier : entry->barrier;
        entry->epoch = entry->epoch < seen.epoch ? seen.epoch : entry->epoch;
        return;
    }
    if (order->count == order->capacity) {
        order->capacity = order->capacity ? 2 * order->capacity : 8;
        order->entries = realloc(order->entries, order->capacity * sizeof seen);
        if (!order->entries)
            sim_give_up("no memory for the vector clocks of blocks");
        entry = order->entries + at;
    }
    memmove(entry + 1, entry, (order->count - at) * sizeof seen);
    *entry = seen;
    order->count++;
}

void gpu_order_merge(gpu_order *order, const gpu_order *from, uint16_t agent, uint16_t reader)
{
    for (uint32_t i = 0; i < from->count; i++) {
        gpu_seen seen = from->entries[i];
        if (!is_visible(&seen, agent))
            continue;
        seen.reader = reader;
        gpu_order_add(order, seen);
    }
}

void gpu_order_share(gpu_order *order)
{
    gpu_order shared = {0};
    for (uint32_t i = 0; i < order->count; i++) {
        gpu_seen seen = order->entries[i];
        seen.reader = GPU_ALL;
        gpu_order_add(&shared, seen);
    }
    gpu_order_forget(order);
    *order = shared;
}

bool gpu_order_sees(const gpu_order *order, uint16_t self, uint32_t block, uint32_t epoch,
                    uint16_t agent)
{
    gpu_seen first = {.block = block};
    for (uint32_t i = position_of(order, &first); i < order->count; i++) {
        const gpu_seen *seen = &order->entries[i];
        if (seen->block != block)
            return false;
        if (is_visible(seen, self) &&
            (epoch < seen->barrier || (agent == seen->agent && epoch < seen->epoch)))
            return true;
    }
    return false;
}
