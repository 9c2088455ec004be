// SPDX-License-Identifier: Apache-2.0
// Detects programs that never end: without external events, a state that recurs once recurs
// forever.
#include <string.h>

#include "iss.h"

#define SLICE (1u << 20) // instructions between two checks
#define LOOK (1u << 14)  // the longest loop that is detected

typedef struct {
    uint64_t changes, now;
    uint32_t sleepers, ring_count;
    dpu_tasklet tasklet[DPU_MAX_TASKLETS];
    uint8_t atomics[DPU_MAX_ATOMICS];
} state;

static void take_state(const dpu *dpu, state *taken)
{
    memset(taken, 0, sizeof *taken);
    taken->changes = dpu->changes;
    taken->now = dpu->now;
    taken->sleepers = dpu->sleepers;
    taken->ring_count = dpu->ring_count;
    memcpy(taken->tasklet, dpu->tasklet, sizeof taken->tasklet);
    memcpy(taken->atomics, dpu->atomics, sizeof taken->atomics);
}

static bool same_tasklet(const dpu_tasklet *a, const dpu_tasklet *b, uint64_t later)
{
    return a->pc == b->pc && a->state == b->state && a->pending == b->pending &&
           (a->state != DPU_RUNS || b->ready - a->ready == later) &&
           !memcmp(a->x, b->x, sizeof a->x);
}

static bool is_same(const dpu *dpu, const state *before)
{
    if (dpu->changes != before->changes || dpu->sleepers != before->sleepers ||
        dpu->ring_count != before->ring_count ||
        memcmp(dpu->atomics, before->atomics, sizeof before->atomics))
        return false;
    for (uint32_t i = 0; i < dpu->program->tasklets; i++)
        if (!same_tasklet(&before->tasklet[i], &dpu->tasklet[i], dpu->now - before->now))
            return false;
    return true;
}

static bool runs_in_a_circle(dpu *dpu)
{
    state before;
    take_state(dpu, &before);
    for (uint32_t i = 0; i < LOOK && !dpu_is_done(dpu); i++) {
        dpu_run(dpu, DPU_NEVER, 1);
        if (dpu->changes != before.changes)
            return false;
        if (is_same(dpu, &before))
            return true;
    }
    return false;
}

void dpu_run_to_end(dpu *dpu)
{
    while (!dpu_is_done(dpu)) {
        dpu_run(dpu, DPU_NEVER, SLICE);
        if (!dpu_is_done(dpu) && runs_in_a_circle(dpu))
            dpu_raise(dpu, DPU_STUCK, 0);
    }
}
