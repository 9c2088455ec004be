// SPDX-License-Identifier: Apache-2.0
// The functions behind the CSL libraries, except tasks and operations.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_device.h"
#include "wse_sim.h"

static wse_pe *of(wse_head *head)
{
    return (wse_pe *)head;
}

WSE_EXPORT void wse_tsc_enable(wse_head *head, bool enabled)
{
    wse_pe *pe = of(head);
    if (enabled && !pe->tsc_runs)
        pe->tsc_origin += head->clock - pe->tsc_stopped;
    if (!enabled && pe->tsc_runs)
        pe->tsc_stopped = head->clock;
    pe->tsc_runs = enabled;
}

// The counter when its low word was last read, so that the words are consistent. Word 3 is the low
// word, which can be read even if the counter is stopped.
WSE_EXPORT uint16_t wse_tsc_read(wse_head *head, uint16_t word)
{
    static uint64_t counter;
    wse_pe *pe = of(head);
    if (head->clock < pe->drained)
        head->clock = pe->drained;
    if (word == 0)
        counter = (pe->tsc_runs ? head->clock : pe->tsc_stopped) - pe->tsc_origin;
    if (word == 3)
        counter = head->clock - pe->tsc_origin;
    head->clock += 1;
    return (uint16_t)(counter >> (16 * (word % 3)));
}

WSE_EXPORT void wse_tsc_reset(wse_head *head)
{
    of(head)->tsc_origin = of(head)->tsc_stopped = head->clock;
}

WSE_EXPORT uint16_t wse_x_coord(wse_head *head)
{
    return (uint16_t)of(head)->x;
}

WSE_EXPORT uint16_t wse_y_coord(wse_head *head)
{
    return (uint16_t)of(head)->y;
}

// Lines of `sim.log`: the output of a PE up to the end of a line.
static FILE *log_file;
void wse_print_open(const char *path)
{
    if (!*path)
        return;
    log_file = fopen(path, "we");
    if (!log_file)
        sim_give_up("the log cannot be written");
}

#define LINE 1024

static void print(wse_head *head, const char *text)
{
    wse_pe *pe = of(head);
    if (!pe->line && !(pe->line = calloc(1, LINE)))
        sim_give_up("no memory for lines");
    for (; *text; text++) {
        size_t used = strlen(pe->line);
        if (*text != '\n' && used + 1 < LINE) {
            pe->line[used] = *text;
            pe->line[used + 1] = '\0';
            continue;
        }
        if (log_file) {
            fprintf(log_file, "@%llu %s\n", (unsigned long long)head->clock, pe->line);
            fflush(log_file);
        }
        pe->line[0] = '\0';
    }
}

WSE_EXPORT void wse_print_text(wse_head *head, uint16_t number, uint16_t unused)
{
    (void)unused;
    print(head, of(head)->class->texts[number]);
}

static void binary(char *text, uint32_t number, uint32_t digits)
{
    for (uint32_t i = 0; i < digits; i++)
        text[i] = (char)('0' + (number >> (digits - 1 - i) & 1));
    text[digits] = '\0';
}

// A float without a fraction gets a decimal point, to mark it as a float.
static void decimal(char *text, size_t size, float value)
{
    snprintf(text, size, "%g", (double)value);
    if (!strpbrk(text, ".en"))
        strcat(text, ".0");
}

// `kind`: 10 decimal, 1 signed, 32 a float's bits; 160, 200 or 260 plus the number of digits:
// hexadecimal, binary, uppercase hexadecimal.
WSE_EXPORT void wse_print_number(wse_head *head, uint32_t number, uint16_t kind)
{
    char text[48];
    if (kind == 164 || kind == 168)
        snprintf(text, sizeof text, "%0*x", kind - 160, number);
    else if (kind == 264 || kind == 268)
        snprintf(text, sizeof text, "%0*X", kind - 260, number);
    else if (kind == 216 || kind == 232)
        binary(text, number, kind - 200u);
    else if (kind == 1)
        snprintf(text, sizeof text, "%d", (int32_t)number);
    else if (kind == 32) {
        float value;
        memcpy(&value, &number, sizeof value);
        decimal(text, sizeof text - 2, value);
    } else
        snprintf(text, sizeof text, "%u", number);
    print(head, text);
}

WSE_EXPORT void wse_trace_word(wse_head *head, uint16_t address, uint16_t word)
{
    memcpy(head->base + address, &word, sizeof word);
}

WSE_EXPORT void wse_queue_flush(wse_head *head, uint16_t queue)
{
    wse_pe *pe = of(head);
    wse_sync(pe);
    pe->flushed |= 1u << queue;
    wse_core_at(pe, wse.now + 1);
}

WSE_EXPORT void wse_queue_flush_exit(wse_head *head, uint16_t queue)
{
    of(head)->flushed &= ~(1u << queue);
}

// The number of wavelets in a queue; the highest bit is set if it is full. Input queues follow the
// output queues.
WSE_EXPORT uint16_t wse_queue_state(wse_head *head, uint16_t number)
{
    wse_pe *pe = of(head);
    wse_sync(pe);
    bool is_input = number >= WSE_QUEUES;
    const wse_queue *queue = is_input ? pe->in[number - WSE_QUEUES] : wse_output(pe, number);
    if (!queue)
        return 0;
    return (uint16_t)(queue->count | (uint32_t)wse_queue_is_full(queue) << 15);
}

WSE_EXPORT void wse_set_active_prng(wse_head *head, uint16_t number)
{
    of(head)->generator = number % WSE_GENERATORS;
}

WSE_EXPORT void wse_set_random(wse_head *head, uint32_t seed)
{
    of(head)->random[of(head)->generator] = seed;
}

// A shift register with the taps of x^23 + x^18 + 1, shifted 128 times after each use, as in the
// vendor's documentation. It is assumed that the low half is the result.
WSE_EXPORT uint16_t wse_random16(wse_head *head)
{
    uint32_t *state = &of(head)->random[of(head)->generator];
    if (!*state)
        *state = 0xdeadbeef;
    uint16_t number = (uint16_t)*state;
    for (uint32_t i = 0; i < 128; i++)
        *state = *state << 1 | ((*state >> 22 ^ *state >> 17) & 1);
    head->clock += 2;
    return number;
}

WSE_EXPORT void wse_set_priority(wse_head *head, uint16_t task, uint16_t is_high)
{
    uint64_t bit = 1ull << task % WSE_TASKS;
    of(head)->urgent = is_high ? of(head)->urgent | bit : of(head)->urgent & ~bit;
}

static wse_route *route(wse_head *head, uint16_t color)
{
    wse_pe *pe = of(head);
    wse_sync(pe);
    wse_router_changed(pe);
    pe->route[color % WSE_COLORS].is_set = 1;
    return &pe->route[color % WSE_COLORS];
}

WSE_EXPORT void wse_teardown_exit(wse_head *head, uint16_t color)
{
    route(head, color)->teardown = 0;
}

WSE_EXPORT uint32_t wse_teardown_state(wse_head *head)
{
    uint32_t bits = 0;
    for (uint32_t color = 0; color < WSE_COLORS; color++)
        bits |= (uint32_t)of(head)->route[color].teardown << color;
    return bits;
}

WSE_EXPORT void wse_set_switch(wse_head *head, uint16_t color, uint16_t position)
{
    wse_route *changed = route(head, color);
    changed->current = position < changed->count ? (uint8_t)position : 0;
}

WSE_EXPORT uint16_t wse_switch_position(wse_head *head, uint16_t color)
{
    return route(head, color)->current;
}

// All positions except the first are removed.
WSE_EXPORT void wse_clear_switch(wse_head *head, uint16_t color)
{
    route(head, color)->count = 1;
    route(head, color)->current = 0;
}

WSE_EXPORT void wse_set_route(wse_head *head, uint16_t color, uint16_t rx, uint16_t tx)
{
    wse_route *changed = route(head, color);
    changed->is_dynamic = 1;
    wse_routes_set(changed, rx, tx);
}

// A position's rx or tx; with 0xff the other one is inherited from the previous position.
WSE_EXPORT void wse_set_switch_route(wse_head *head, uint16_t color, uint16_t position,
                                     uint16_t rx, uint16_t tx)
{
    wse_route *changed = route(head, color);
    uint32_t before = position ? (position - 1u) & 3 : 0;
    changed->rx[position & 3] = rx == 0xff ? changed->rx[before] : (uint8_t)rx;
    changed->tx[position & 3] = tx == 0xff ? changed->tx[before] : (uint8_t)tx;
    changed->inputs &= (uint8_t)~(1u << (position & 3));
    changed->inputs |= (uint8_t)((rx != 0xffu) << (position & 3));
    if (changed->count <= position)
        changed->count = (uint8_t)(position + 1);
}

WSE_EXPORT void wse_set_switch_mode(wse_head *head, uint16_t color, uint16_t ring, uint16_t pop,
                                    uint16_t which)
{
    wse_route *changed = route(head, color);
    if (which & 1)
        changed->ring = (uint8_t)ring;
    if (which & 2)
        changed->pop = (uint8_t)pop;
}

WSE_EXPORT void wse_set_swap(wse_head *head, uint16_t swaps)
{
    wse_sync(of(head));
    for (uint32_t color = 0; color < WSE_COLORS; color++)
        of(head)->route[color].swap = swaps & 3;
}

// One of the numbers of a filter, by index, or 6 for the counter itself.
WSE_EXPORT void wse_set_filter(wse_head *head, uint16_t color, uint16_t which, uint16_t value)
{
    wse_filter *filter = &route(head, color)->filter;
    if (!filter->kind || filter->kind == 2)
        sim_fault(0, "color %u has no counter filter", color);
    *(which < 6 ? &filter->numbers[which] : &filter->counter) = value;
}

WSE_EXPORT void wse_set_queue_color(wse_head *head, uint16_t queue, uint16_t color, uint16_t is_in)
{
    wse_pe *pe = of(head);
    wse_sync(pe);
    (is_in ? pe->input_color : pe->output_color)[queue % WSE_QUEUES] = (int8_t)color;
    wse_router_changed(pe);
    wse_core_at(pe, wse.now + 1);
}
