// SPDX-License-Identifier: Apache-2.0
// Chooses the tasklet that issues next. All instructions take the same time, so issuing tasklets
// form a ring, ordered by the cycle in which they can issue; tasklets that are ready at another
// time are kept in a separate list.
#include "iss.h"
#include "timing.h"

uint64_t dpu_random(dpu *dpu)
{
    uint64_t z = dpu->random += 0x9e3779b97f4a7c15u; // SplitMix64, as in sim_order.c
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

// Cycles in excess of those of every instruction, for the profile.
static void count_stall(dpu *dpu, uint32_t number, uint64_t cycles)
{
    const dpu_tasklet *tasklet = &dpu->tasklet[number];
    uint64_t pipeline = (uint64_t)cost_PIPELINE;
    if (dpu->program->stalled && cycles > pipeline)
        __atomic_fetch_add(&dpu->program->stalled[tasklet->issued], cycles - pipeline,
                           __ATOMIC_RELAXED);
}

void dpu_sleep(dpu *dpu, uint32_t tasklet, uint64_t ready)
{
    count_stall(dpu, tasklet, ready - dpu->now);
    dpu->tasklet[tasklet].ready = ready;
    uint32_t at = dpu->sleepers++;
    while (at > 0 && dpu->tasklet[dpu->sleeper[at - 1]].ready > ready) {
        dpu->sleeper[at] = dpu->sleeper[at - 1];
        at--;
    }
    dpu->sleeper[at] = (uint8_t)tasklet;
}

void dpu_wake(dpu *dpu, uint32_t tasklet, uint64_t ready)
{
    count_stall(dpu, tasklet, dpu->now - dpu->tasklet[tasklet].ready);
    dpu->tasklet[tasklet].state = DPU_RUNS;
    dpu_sleep(dpu, tasklet, ready);
}

static uint32_t take_sleeper(dpu *dpu)
{
    uint32_t tasklet = dpu->sleeper[0];
    dpu->sleepers--;
    for (uint32_t i = 0; i < dpu->sleepers; i++)
        dpu->sleeper[i] = dpu->sleeper[i + 1];
    return tasklet;
}

uint32_t dpu_next(dpu *dpu, uint64_t *ready)
{
    uint32_t first = dpu->ring[dpu->ring_head & 31];
    if (dpu->sleepers &&
        (!dpu->ring_count ||
         dpu->tasklet[dpu->sleeper[0]].ready < dpu->tasklet[first].ready)) {
        uint32_t tasklet = take_sleeper(dpu);
        *ready = dpu->tasklet[tasklet].ready;
        return tasklet;
    }
    if (!dpu->ring_count)
        return DPU_MAX_TASKLETS;
    dpu->ring_head++;
    dpu->ring_count--;
    *ready = dpu->tasklet[first].ready;
    return first;
}
