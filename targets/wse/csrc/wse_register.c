// SPDX-License-Identifier: Apache-2.0
// Registers that code accesses through pointers made from numbers: the routes and the switch of
// each color. Comments in a public benchmark for WSE-2, spmv-hypersparse, describe their words.
#include <string.h>

#include "sim_device.h"
#include "wse_sim.h"

#define ROUTES 0x7f20u // addresses count 16-bit words; one register per color
#define SWITCHES 0x7f40u
#define SRAM (48u << 10)

enum { OUTPUTS = 0, INPUTS = 5, SWAP_Y = 10, SWAP_X = 11, POP = 12, TEARDOWN = 14 }; // bits
enum { IS_INPUT = 8, INVALID = 5, RING = 12, CURRENT = 13 };

// The machine's order of directions is west, east, south, north.
static uint32_t machine_direction(uint32_t direction)
{
    return direction == WSE_RAMP ? direction : direction ^ 1;
}

static uint32_t machine_bits(uint32_t bits)
{
    uint32_t found = 0;
    for (uint32_t direction = 0; direction < WSE_DIRECTIONS; direction++)
        found |= (bits >> direction & 1) << machine_direction(direction);
    return found;
}

static uint16_t routes_word(const wse_route *route)
{
    return (uint16_t)(machine_bits(route->tx[0]) << OUTPUTS | machine_bits(route->rx[0]) << INPUTS |
                      (route->swap >> 1 & 1u) << SWAP_Y | (route->swap & 1u) << SWAP_X |
                      (uint32_t)route->pop << POP | (uint32_t)route->teardown << TEARDOWN);
}

// The difference between a position and the previous one: the machine stores one direction.
static uint32_t change_of(const wse_route *route, uint32_t position)
{
    if (position >= route->count)
        return INVALID;
    bool is_input = route->inputs >> position & 1;
    uint32_t bits = is_input ? route->rx[position] : route->tx[position];
    return machine_direction((uint32_t)__builtin_ctz(bits | 1u << WSE_RAMP)) |
           (is_input ? IS_INPUT : 0u);
}

uint16_t wse_switch_word(const wse_route *route)
{
    uint32_t word = (uint32_t)route->ring << RING | (uint32_t)route->current << CURRENT;
    for (uint32_t position = 1; position < 4; position++)
        word |= change_of(route, position) << 4 * (position - 1);
    return (uint16_t)word;
}

void wse_switch_set(wse_route *route, uint16_t word)
{
    route->count = 1;
    for (uint32_t position = 1; position < 4; position++) {
        uint32_t change = word >> 4 * (position - 1) & 15;
        if ((change & 7) >= INVALID)
            break;
        uint8_t bit = (uint8_t)(1u << machine_direction(change & 7));
        route->rx[position] = change & IS_INPUT ? bit : route->rx[position - 1];
        route->tx[position] = change & IS_INPUT ? route->tx[position - 1] : bit;
        route->inputs &= (uint8_t)~(1u << position);
        route->inputs |= (uint8_t)((change / IS_INPUT) << position);
        route->count++;
    }
    route->ring = word >> RING & 1;
    uint32_t current = word >> CURRENT & 3;
    route->current = current < route->count ? (uint8_t)current : 0;
}

// Later positions keep their changes.
void wse_routes_set(wse_route *route, uint32_t rx, uint32_t tx)
{
    uint16_t word = wse_switch_word(route);
    route->rx[0] = (uint8_t)rx;
    route->tx[0] = (uint8_t)tx;
    wse_switch_set(route, word);
}

static void set_routes(wse_route *route, uint16_t word)
{
    wse_routes_set(route, machine_bits(word >> INPUTS & 31), machine_bits(word >> OUTPUTS & 31));
    route->swap = (uint8_t)((word >> SWAP_X & 1) | (word >> SWAP_Y & 1) << 1);
    route->pop = word >> POP & 3;
    route->teardown = word >> TEARDOWN & 1;
}

static wse_route *route_at(wse_pe *pe, uint32_t word, uint32_t first)
{
    return word >= first && word < first + WSE_COLORS ? &pe->route[word - first] : NULL;
}

static uint8_t *memory_at(wse_pe *pe, uint16_t address)
{
    if (address + 2u > SRAM)
        sim_fault(address, "the address is outside the 48 KiB of SRAM");
    return pe->head.base + address;
}

WSE_EXPORT uint16_t wse_register_read(wse_head *head, uint16_t address)
{
    wse_pe *pe = (wse_pe *)head;
    wse_route *routes = route_at(pe, address / 2, ROUTES);
    wse_route *switches = route_at(pe, address / 2, SWITCHES);
    uint16_t word;
    wse_sync(pe);
    if (routes)
        return routes_word(routes);
    if (switches)
        return wse_switch_word(switches);
    memcpy(&word, memory_at(pe, address), sizeof word);
    return word;
}

WSE_EXPORT void wse_register_write(wse_head *head, uint16_t address, uint16_t word)
{
    wse_pe *pe = (wse_pe *)head;
    wse_route *routes = route_at(pe, address / 2, ROUTES);
    wse_route *switches = route_at(pe, address / 2, SWITCHES);
    wse_sync(pe);
    if (!routes && !switches) {
        memcpy(memory_at(pe, address), &word, sizeof word);
        return;
    }
    if (routes)
        set_routes(routes, word);
    else
        wse_switch_set(switches, word);
    (routes ? routes : switches)->is_set = 1;
    (routes ? routes : switches)->is_dynamic = 1;
    wse_router_changed(pe);
}
