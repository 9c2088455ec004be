// SPDX-License-Identifier: Apache-2.0
// The event queue: a ring of the next cycles, and a heap for later events.
#include <stdlib.h>

#include "sim_device.h"
#include "sim_order.h"
#include "wse_sim.h"

#define NEAR 64

typedef struct {
    uint64_t time;
    uint32_t pe, is_core;
} event;

typedef struct {
    event *events;
    uint32_t count, capacity;
} list;

static list near[NEAR], far;
static uint64_t near_count;

static void append(list *events, event given)
{
    if (events->count == events->capacity) {
        events->capacity = events->capacity ? 2 * events->capacity : 64;
        events->events = realloc(events->events, events->capacity * sizeof given);
        if (!events->events)
            sim_give_up("no memory for events");
    }
    events->events[events->count++] = given;
}

static void heap_push(event given)
{
    append(&far, given);
    uint32_t at = far.count - 1;
    for (; at && far.events[(at - 1) / 2].time > given.time; at = (at - 1) / 2)
        far.events[at] = far.events[(at - 1) / 2];
    far.events[at] = given;
}

static event heap_pop(void)
{
    event top = far.events[0], last = far.events[--far.count];
    uint32_t at = 0;
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= far.count)
            break;
        if (child + 1 < far.count && far.events[child + 1].time < far.events[child].time)
            child++;
        if (far.events[child].time >= last.time)
            break;
        far.events[at] = far.events[child];
        at = child;
    }
    if (far.count)
        far.events[at] = last;
    return top;
}

static void schedule(event given)
{
    if (given.time - wse.now < NEAR) {
        append(&near[given.time % NEAR], given);
        near_count++;
    } else {
        heap_push(given);
    }
}

// Each PE records its events of the next cycles, so that none is scheduled twice.
static bool is_known(uint64_t *known, uint64_t time)
{
    uint64_t bit = 1ull << time % NEAR;
    if (time - wse.now >= NEAR)
        return false;
    bool known_already = *known & bit;
    *known |= bit;
    return known_already;
}

void wse_core_at(wse_pe *pe, uint64_t time)
{
    if (!is_known(&pe->core_at, time))
        schedule((event){time, pe->number, 1});
}

void wse_router_at(wse_pe *pe, uint64_t time)
{
    if (!is_known(&pe->router_at, time))
        schedule((event){time, pe->number, 0});
}

static bool next_time(uint64_t *time)
{
    while (far.count && far.events[0].time - wse.now < NEAR) {
        event given = heap_pop();
        append(&near[given.time % NEAR], given);
        near_count++;
    }
    for (uint64_t ahead = 0; near_count && ahead < NEAR; ahead++)
        if (near[(wse.now + ahead) % NEAR].count) {
            *time = wse.now + ahead;
            return true;
        }
    if (!far.count)
        return false;
    *time = far.events[0].time;
    return true;
}

static void handle(event given)
{
    wse_pe *pe = &wse.pes[given.pe];
    uint64_t bit = 1ull << wse.now % NEAR;
    if (given.is_core) {
        pe->core_at &= ~bit;
        wse_core_step(pe);
    } else {
        pe->router_at &= ~bit;
        wse_router_step(pe);
    }
}

// Events that are scheduled for this cycle in the meantime are appended to the same list.
static void run_cycle(void)
{
    list *events = &near[wse.now % NEAR];
    static uint32_t *order, capacity;
    for (uint32_t first = 0; first < events->count;) {
        uint32_t count = events->count - first;
        if (count > capacity) {
            capacity = 2 * count;
            order = realloc(order, capacity * sizeof *order);
            if (!order)
                sim_give_up("no memory for events");
        }
        sim_order(order, count);
        for (uint32_t i = 0; i < count; i++)
            handle(events->events[first + order[i]]);
        first += count;
    }
    near_count -= events->count;
    events->count = 0;
}

void wse_run(void)
{
    uint64_t time, limit = wse.now + wse_shared->settings.cycle_limit;
    while (next_time(&time)) {
        wse.now = time;
        if (time > limit)
            sim_fault(0, "the command runs for more than %llu cycles",
                      (unsigned long long)wse_shared->settings.cycle_limit);
        run_cycle();
    }
    wse_shared->counters[WSE_CYCLES] = wse.now;
}
