// SPDX-License-Identifier: Apache-2.0
// Warp collectives: the last lane to arrive executes them for all lanes.
#include <string.h>

#include "gpu_access.h"
#include "sim_device.h"
#include "sim_poison.h"

static gpu_thread *lane_of(const gpu_warp *warp, uint32_t lane)
{
    return &gpu_threads[(warp - gpu_warps) * CUDA_WARP + lane];
}

static uint32_t first_of(uint32_t lanes)
{
    return (uint32_t)__builtin_ctz(lanes);
}

static void complete(gpu_warp *warp, const gpu_collective *collective, uint32_t lanes)
{
    void *arguments[CUDA_WARP] = {NULL};
    for (uint32_t left = lanes; left; left &= left - 1)
        arguments[first_of(left)] = lane_of(warp, first_of(left))->argument;
    collective->run(arguments, lanes);
    if (gpu_counts_banks && lanes == (warp->all & ~warp->ended))
        gpu_banks_settle_warp((uint32_t)(warp - gpu_warps));
    warp->in_collective &= ~lanes;
    warp->steps++;
    for (uint32_t left = lanes; left; left &= left - 1)
        lane_of(warp, first_of(left))->state = GPU_READY;
}

static void require_whole_warp(const gpu_warp *warp, const gpu_collective *collective)
{
    if (warp->all != CUDA_ALL_LANES)
        sim_fault(0, "%s in a warp of %d threads", collective->name, __builtin_popcount(warp->all));
    if (warp->ended)
        sim_fault(0, "divergence at %s: lane %u of the warp has ended", collective->name,
                  first_of(warp->ended));
}

static void require_same_collective(const gpu_warp *warp, const gpu_collective *collective, uint32_t variant,
                                 uint32_t mask)
{
    if (warp->at_barrier & mask) {
        uint32_t lane = first_of(warp->at_barrier & mask);
        sim_fault(0, "divergence at %s: lane %u of the warp is at barrier %u", collective->name, lane,
                  lane_of(warp, lane)->barrier);
    }
    if (!(warp->in_collective & mask))
        return;
    uint32_t lane = first_of(warp->in_collective & mask);
    const gpu_thread *other = lane_of(warp, lane);
    if (other->collective != collective || other->variant != variant)
        sim_fault(0, "divergence at %s: lane %u of the warp is at %s", collective->name, lane,
                  other->collective == collective ? "another variant of it" : other->collective->name);
    if (other->mask != mask)
        sim_fault(0, "%s with the lane mask 0x%x, at which lane %u waits with 0x%x", collective->name,
                  mask, lane, other->mask);
}

// Whether the last lane to arrive, which agreed with those before it, waits for the same collective.
static inline bool is_same_as_last(const gpu_warp *warp, const gpu_collective *collective, uint32_t variant,
                                   uint32_t mask)
{
    return warp->in_collective & warp->last && !(warp->at_barrier & mask) && warp->mask == mask &&
           warp->collective == collective && warp->variant == variant;
}

void gpu_run_collective(const gpu_collective *collective, uint32_t variant, uint32_t mask, void *argument)
{
    gpu_require_thread(collective->name);
    gpu_thread *self = gpu_running;
    gpu_warp *warp = gpu_warp_of(self);
    uint32_t bit = gpu_lane_bit(self);
    if (collective->aligned)
        require_whole_warp(warp, collective);
    if (!(mask & bit))
        sim_fault(0, "%s with the lane mask 0x%x, which lacks its own lane", collective->name, mask);
    if (!is_same_as_last(warp, collective, variant, mask))
        require_same_collective(warp, collective, variant, mask);
    warp->last = bit;
    warp->collective = self->collective = collective;
    warp->variant = self->variant = variant;
    warp->mask = self->mask = mask;
    self->argument = argument;
    uint32_t lanes = mask & warp->all & ~warp->ended;
    warp->in_collective |= bit;
    if ((warp->in_collective & mask) == lanes)
        complete(warp, collective, lanes);
    else
        gpu_wait(GPU_IN_MEETING);
}

void gpu_require_apart(const gpu_warp *warp, const char *name)
{
    for (uint32_t left = warp->in_collective; left; left &= left - 1) {
        const gpu_thread *other = lane_of(warp, first_of(left));
        if (other->mask & gpu_lane_bit(gpu_running))
            sim_fault(0, "divergence at %s: lane %u of the warp is at %s", name, first_of(left),
                      other->collective->name);
    }
}

// Other lanes of the warp may have waited for this lane only.
void gpu_warp_lane_ended(void)
{
    gpu_warp *warp = gpu_warp_of(gpu_running);
    uint32_t bit = gpu_lane_bit(gpu_running);
    warp->ended |= bit;
    for (uint32_t left = warp->in_collective; left; left &= left - 1) {
        const gpu_thread *other = lane_of(warp, first_of(left));
        if (other->state != GPU_IN_MEETING || !(other->mask & bit))
            continue;
        if (other->collective->aligned)
            sim_fault(0, "divergence: this lane ended, and lane %u of the warp is at %s", first_of(left),
                      other->collective->name);
        uint32_t lanes = other->mask & warp->all & ~warp->ended;
        if ((warp->in_collective & other->mask) == lanes)
            complete(warp, other->collective, lanes);
    }
}

void gpu_collective_deadlock(const gpu_thread *thread)
{
    const gpu_warp *warp = gpu_warp_of(thread);
    uint32_t missing = thread->mask & warp->all & ~warp->ended & ~warp->in_collective;
    sim_fault_with_report(gpu_thread_report(), "deadlock: %s waits for lane %u of the warp",
                          thread->collective->name, first_of(missing));
}

static void sync_lanes(void *const *arguments, uint32_t lanes)
{
    (void)arguments;
    (void)lanes;
    gpu_count(GPU_WARP_SYNCS, 1);
}

void cuda_warp_sync(uint32_t mask)
{
    static const gpu_collective collective = {"cuda_warp_sync", false, sync_lanes};
    gpu_run_collective(&collective, 0, mask, NULL);
}

typedef struct {
    uint32_t *words, from, count;
} shuffled;

static void require_source(const gpu_warp *warp, uint32_t lane, uint32_t from)
{
    if (warp->ended & lane_of(warp, lane)->mask & 1u << from)
        sim_fault(0, "cuda_shuffle: lane %u reads from lane %u, which has ended", lane, from);
}

static void shuffle_lanes(void *const *arguments, uint32_t lanes)
{
    const uint32_t poison = (uint32_t)SIM_POISON << 16 | SIM_POISON;
    uint32_t values[CUDA_WARP][CUDA_SHUFFLES], count = 0;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const shuffled *given = arguments[first_of(left)];
        count = given->count;
        memcpy(values[first_of(left)], given->words, count * sizeof(uint32_t));
    }
    for (uint32_t left = lanes; left; left &= left - 1) {
        const shuffled *given = arguments[first_of(left)];
        bool known = arguments[given->from];
        if (!known)
            require_source(gpu_warp_of(gpu_running), first_of(left), given->from);
        for (uint32_t i = 0; i < count; i++)
            given->words[i] = known ? values[given->from][i] : poison;
    }
    gpu_count(GPU_SHUFFLES, count);
}

// The source lane by the PTX ISA's definition of shfl.sync, or -1 if it is out of range.
static int source_lane(cuda_shuffle_mode mode, int own, int operand, uint32_t clamp)
{
    int segment = clamp >> 8 & 31, last = (own & segment) | (int)(clamp & 31 & (uint32_t)~segment);
    operand &= 31;
    switch (mode) {
    case CUDA_SHUFFLE_UP:
        return own - operand >= last ? own - operand : -1;
    case CUDA_SHUFFLE_DOWN:
        return own + operand <= last ? own + operand : -1;
    case CUDA_SHUFFLE_XOR:
        return (own ^ operand) <= last ? own ^ operand : -1;
    case CUDA_SHUFFLE_INDEX:
        operand = (own & segment) | (operand & ~segment);
        return operand <= last ? operand : -1;
    }
    sim_fault(0, "cuda_shuffle of the unknown mode %d", (int)mode);
}

// Returns whether the source lane is in range.
static bool shuffle(uint32_t mask, cuda_shuffle_mode mode, uint32_t *words, uint32_t count, uint32_t lane,
                    uint32_t clamp)
{
    static const gpu_collective collective = {"cuda_shuffle", false, shuffle_lanes};
    uint32_t own = cuda_lane_id();
    int from = source_lane(mode, (int)own, (int)lane, clamp);
    shuffled given = {words, from < 0 ? own : (uint32_t)from, count};
    gpu_run_collective(&collective, mode + (count << 8), mask, &given);
    return from >= 0;
}

uint32_t cuda_shuffle(uint32_t mask, cuda_shuffle_mode mode, uint32_t value, uint32_t lane,
                      uint32_t clamp, bool *in_range)
{
    bool known = shuffle(mask, mode, &value, 1, lane, clamp);
    if (in_range)
        *in_range = known;
    return value;
}

void cuda_shuffle_words(uint32_t mask, cuda_shuffle_mode mode, uint32_t *words, uint32_t count,
                        uint32_t lane, uint32_t clamp)
{
    if (!count || count > CUDA_SHUFFLES)
        sim_fault(0, "cuda_shuffle of %u words: 1 to %u are allowed", count, CUDA_SHUFFLES);
    shuffle(mask, mode, words, count, lane, clamp);
}

typedef struct {
    bool predicate;
    uint32_t result;
} vote;

static void count_votes(void *const *arguments, uint32_t lanes)
{
    uint32_t result = 0;
    for (uint32_t left = lanes; left; left &= left - 1)
        if (((const vote *)arguments[first_of(left)])->predicate)
            result |= 1u << first_of(left);
    for (uint32_t left = lanes; left; left &= left - 1)
        ((vote *)arguments[first_of(left)])->result = result;
    gpu_count(GPU_BALLOTS, 1);
}

uint32_t cuda_ballot(uint32_t mask, bool predicate)
{
    static const gpu_collective collective = {"cuda_ballot", false, count_votes};
    vote given = {predicate, 0};
    gpu_run_collective(&collective, 0, mask, &given);
    return given.result;
}
