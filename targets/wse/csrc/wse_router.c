// SPDX-License-Identifier: Apache-2.0
// Routers: a link carries one wavelet per cycle; blocked wavelets wait, as do those behind them.
#include "sim_device.h"
#include "wse_sim.h"

const char *const wse_direction_names[WSE_DIRECTIONS] = {"East", "West", "North", "South", "Ramp"};
static const uint32_t opposite[] = {WSE_WEST, WSE_EAST, WSE_SOUTH, WSE_NORTH};

wse_pe *wse_neighbor(const wse_pe *pe, uint32_t direction)
{
    static const int dx[] = {1, -1, 0, 0}, dy[] = {0, 0, -1, 1};
    uint32_t x = pe->x + (uint32_t)dx[direction], y = pe->y + (uint32_t)dy[direction];
    return x < wse.width && y < wse.height ? &wse.pes[y * wse.width + x] : NULL;
}

void wse_router_changed(wse_pe *pe)
{
    wse_router_at(pe, wse.now + 1);
}

// Control wavelets hold commands of three bits, the highest of which hides the wavelet from the
// core.
enum { COMMAND_NONE, COMMAND_ADVANCE, COMMAND_RESET = 2, COMMAND_TEARDOWN = 3 };
static uint32_t command_of(uint32_t data)
{
    return data >> 22 & 3;
}

static bool is_kept_from_core(uint32_t data)
{
    return data >> 24 & 1;
}

// Removes the first command; the command shifted in last does nothing and is hidden from cores.
static uint32_t pop_command(uint32_t data)
{
    uint32_t commands = (data >> 22 & 0xff) | (data & 0xffff) << 8; // eight of three bits
    commands = commands >> 3 | 4u << 21;
    return (data & 0xc03f0000u) | (commands & 0xff) << 22 | commands >> 8;
}

uint32_t wse_swapped_color(const wse_pe *pe, uint32_t color, uint32_t from)
{
    uint32_t swap = pe->route[color].swap;
    bool along_x = from == WSE_EAST || from == WSE_WEST;
    bool along_y = from == WSE_NORTH || from == WSE_SOUTH;
    bool swaps = (along_x && swap & 1) || (along_y && swap & 2) || (from == WSE_RAMP && swap == 3);
    return swaps ? color ^ 1 : color;
}

static bool has_later_path(const wse_route *route, uint32_t from)
{
    if (route->teardown || route->is_dynamic)
        return true;
    for (uint32_t position = 0; position < route->count; position++)
        if (route->rx[position] >> from & 1)
            return true;
    return false;
}

static wse_route *route_of(wse_pe *pe, const wse_wavelet *wavelet, uint32_t from)
{
    wse_route *route = &pe->route[wavelet->color];
    if (!route->is_set || !has_later_path(route, from)) {
        wse_about = pe;
        sim_fault(0, "a wavelet of color %u from %s has no route, in cycle %llu", wavelet->color,
                  wse_direction_names[from], (unsigned long long)wse.now);
    }
    if (route->teardown || !(route->rx[route->current] >> from & 1))
        return NULL;
    return route;
}

static bool passes_filter(wse_route *route, const wse_wavelet *wavelet, bool commit)
{
    wse_filter *filter = &route->filter;
    uint32_t index = wavelet->data >> 16;
    if (filter->kind == 2)
        return wavelet->control || (filter->numbers[0] <= index && index <= filter->numbers[1]);
    if (filter->kind == 0)
        return true;
    if (filter->kind == 3 && !filter->numbers[2])
        return true; // a sparse counter with exhausted limits
    bool counts = wavelet->control ? filter->numbers[4] & 1 : filter->numbers[3];
    bool passes = filter->counter <= filter->numbers[1];
    if (filter->numbers[4] & 2)
        passes = wavelet->control && filter->counter == filter->numbers[1];
    if (!commit || !counts)
        return passes;
    if (filter->counter < filter->numbers[2]) {
        filter->counter++;
        return passes;
    }
    filter->counter = 0;
    if (filter->kind == 3) { // the second limit replaces the first, once
        filter->numbers[2] = filter->numbers[5];
        filter->numbers[5] = 0;
    }
    return passes;
}

// Whether the core receives a wavelet that goes down the ramp.
static bool goes_to_core(wse_route *route, const wse_wavelet *wavelet, bool commit)
{
    if (!passes_filter(route, wavelet, commit))
        return false;
    return !(wavelet->control && is_kept_from_core(wavelet->data));
}

static wse_queue **target(wse_pe *pe, uint32_t to, const wse_wavelet *wavelet)
{
    wse_pe *next = wse_neighbor(pe, to);
    if (!next) {
        wse_about = pe;
        sim_fault(0, "a wavelet of color %u leaves the rectangle to the %s, in cycle %llu",
                  wavelet->color, wse_direction_names[to], (unsigned long long)wse.now);
    }
    uint32_t color = wse_swapped_color(next, wavelet->color, opposite[to]);
    wse_queue **queue = &next->port[opposite[to]][color];
    if (!*queue)
        *queue = wse_queue_new(wse.link_buffer);
    return queue;
}

static bool can_go(wse_pe *pe, wse_route *route, const wse_wavelet *wavelet, bool *lost)
{
    uint32_t tx = route->tx[route->current];
    for (uint32_t to = 0; to < WSE_DIRECTIONS; to++) {
        if (!(tx >> to & 1))
            continue;
        if (to == WSE_RAMP && !goes_to_core(route, wavelet, false))
            continue;
        wse_queue *queue = to == WSE_RAMP ? wse_input_of(pe, wavelet->color)
                                          : *target(pe, to, wavelet);
        if (!queue || wse_queue_is_full(queue))
            return false;
        if (pe->link_used[to] == wse.now) {
            *lost = true;
            return false;
        }
    }
    return true;
}

static void arrive(wse_pe *pe, uint32_t from, uint32_t color, uint64_t time)
{
    wse_route *route = &pe->route[color];
    if (route->arrived == time && route->arrived_from != from &&
        route->rx[route->current] >> from & 1 &&
        route->rx[route->current] >> route->arrived_from & 1) {
        wse_about = pe;
        sim_fault(0, "color %u arrives from %s and %s in the same cycle, %llu", color,
                  wse_direction_names[route->arrived_from], wse_direction_names[from],
                  (unsigned long long)time);
    }
    route->arrived = time;
    route->arrived_from = (uint8_t)from;
}

// The core receives a control wavelet unchanged, other routers receive the remaining commands.
static void send(wse_pe *pe, wse_route *route, wse_wavelet wavelet, uint32_t onward)
{
    uint32_t tx = route->tx[route->current];
    for (uint32_t to = 0; to < WSE_DIRECTIONS; to++) {
        if (!(tx >> to & 1))
            continue;
        wse_wavelet copy = wavelet;
        if (to == WSE_RAMP) {
            if (!goes_to_core(route, &wavelet, true))
                continue;
            copy.ready = wse.now + wse.ramp;
            wse_queue_push(wse_input_of(pe, wavelet.color), copy);
            wse_core_at(pe, copy.ready);
            wse_trace_wavelet(pe, to, &copy);
            wse_shared->counters[WSE_DELIVERED]++;
        } else {
            wse_pe *next = wse_neighbor(pe, to);
            copy.data = onward;
            copy.ready = wse.now + wse.hop;
            copy.color = (uint8_t)wse_swapped_color(next, wavelet.color, opposite[to]);
            arrive(next, opposite[to], copy.color, copy.ready);
            wse_queue_push(*target(pe, to, &wavelet), copy);
            next->pending[opposite[to]] |= 1u << copy.color;
            wse_router_at(next, copy.ready);
            wse_trace_wavelet(pe, to, &copy);
            wse_shared->counters[WSE_HOPS]++;
        }
        pe->link_used[to] = wse.now;
    }
    route->moved = wse.now;
}

// The wavelet has left through the old position; now the switch advances.
static void obey(wse_pe *pe, wse_route *route, uint32_t color, uint32_t command)
{
    if (command == COMMAND_ADVANCE && route->count > 1) {
        if (route->current + 1 < route->count)
            route->current++;
        else if (route->ring)
            route->current = 0;
    } else if (command == COMMAND_RESET) {
        route->current = 0;
    } else if (command == COMMAND_TEARDOWN) {
        route->teardown = 1;
        pe->teardowns |= 1u << color;
        wse_core_at(pe, wse.now + wse.ramp);
    }
}

static uint32_t popped(const wse_route *route, uint32_t data, uint32_t command)
{
    bool advances = command == COMMAND_ADVANCE && route->count > 1 &&
                    (route->current + 1 < route->count || route->ring);
    bool pops = route->pop == 1 || (route->pop >= 2 && advances) ||
                (route->pop == 3 && command == COMMAND_NONE);
    return pops ? pop_command(data) : data;
}

// Returns whether the front wavelet of an input moved; `lost` is set if another one took its link.
static bool forward(wse_pe *pe, uint32_t from, wse_queue *queue, bool *lost)
{
    wse_wavelet wavelet = *wse_queue_front(queue);
    wse_route *route = route_of(pe, &wavelet, from);
    if (!route || !can_go(pe, route, &wavelet, lost))
        return false;
    if (route->moved == wse.now) {
        *lost = true;
        return false;
    }
    wse_queue_pop(queue);
    uint32_t command = wavelet.control ? command_of(wavelet.data) : 0;
    uint32_t onward = wavelet.control ? popped(route, wavelet.data, command) : wavelet.data;
    bool advances = wavelet.advances;
    wavelet.advances = 0;
    send(pe, route, wavelet, onward);
    obey(pe, route, wavelet.color, command);
    if (advances)
        obey(pe, route, wavelet.color, COMMAND_ADVANCE);
    return true;
}

static void left(wse_pe *pe, uint32_t from)
{
    if (from == WSE_RAMP)
        wse_core_at(pe, wse.now + 1);
    else
        wse_router_at(wse_neighbor(pe, from), wse.now + 1);
}

static bool try_input(wse_pe *pe, uint32_t from, uint32_t number, uint64_t *again)
{
    wse_queue *queue = from == WSE_RAMP ? pe->out[number] : pe->port[from][number];
    wse_wavelet *front = wse_queue_front(queue);
    bool lost = false, moved = false;
    if (front->ready > wse.now) {
        if (front->ready < *again)
            *again = front->ready;
        return false;
    }
    if (from == WSE_RAMP && pe->class->host_out >> front->color & 1) {
        if (!(pe->route[front->color].is_set)) {
            wse_host_sink(pe, wse_queue_pop(queue));
            moved = true;
        }
    }
    if (!moved)
        moved = forward(pe, from, queue, &lost);
    if (moved) {
        left(pe, from);
        if (!queue->count)
            pe->pending[from] &= ~(1u << number);
    }
    if (lost || (moved && queue->count))
        *again = wse.now + 1;
    return moved;
}

void wse_router_step(wse_pe *pe)
{
    uint64_t again = WSE_NEVER;
    bool moved = false;
    uint32_t turn = (uint32_t)wse.now;
    for (uint32_t i = 0; i < WSE_DIRECTIONS; i++) {
        uint32_t from = (turn + i) % WSE_DIRECTIONS;
        uint32_t rotated = pe->pending[from], number;
        while (rotated) {
            number = (uint32_t)__builtin_ctz(rotated);
            rotated &= rotated - 1;
            moved |= try_input(pe, from, number, &again);
        }
    }
    if (moved && (pe->pending[0] | pe->pending[1] | pe->pending[2] | pe->pending[3] |
                  pe->pending[4]))
        again = wse.now + 1; // a switch may have advanced
    if (again != WSE_NEVER)
        wse_router_at(pe, again);
}
