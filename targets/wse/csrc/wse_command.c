// SPDX-License-Identifier: Apache-2.0
// Commands of the host: copies to and from symbols, streams on colors, calls of functions.
#include <stdlib.h>
#include <string.h>

#include "sim_device.h"
#include "wse_sim.h"

enum { COPY_IN = 1, COPY_OUT, STREAM_IN, STREAM_OUT, CALL, FINISH, DUMP };
enum { COLUMN_MAJOR = 1, NARROW = 2, ROW_BROADCAST = 4, COLUMN_BROADCAST = 8, DEFERRED = 16 };

// A rectangle of PEs with the same number of elements on each, and their location on the host.
typedef struct {
    uint64_t what; // symbol or color
    uint32_t x, y, width, height, elements, flags;
    uint32_t *data;
} region;

static region region_of(const uint64_t *arguments)
{
    region made = {arguments[0],           (uint32_t)arguments[1], (uint32_t)arguments[2],
                   (uint32_t)arguments[3], (uint32_t)arguments[4], (uint32_t)arguments[5],
                   (uint32_t)arguments[6], (uint32_t *)(uintptr_t)arguments[7]};
    return made;
}

static uint32_t *element_of(const region *part, uint32_t x, uint32_t y, uint32_t number)
{
    uint64_t width = part->width, height = part->height;
    if (part->flags & ROW_BROADCAST)
        x = 0, width = 1;
    if (part->flags & COLUMN_BROADCAST)
        y = 0, height = 1;
    uint64_t index = part->flags & COLUMN_MAJOR
                         ? (number * width + x) * height + y
                         : (y * width + x) * part->elements + number;
    return part->data + index;
}

static wse_pe *pe_of(const region *part, uint32_t x, uint32_t y)
{
    return &wse.pes[(uint64_t)(part->y + y) * wse.width + part->x + x];
}

static uint32_t address_of(wse_pe *pe, uint64_t symbol)
{
    const wse_symbol *found = &pe->class->symbols[symbol];
    wse_about = pe;
    if (!found->present)
        sim_fault(0, "the PE has no symbol '%s'", wse.symbols[symbol]);
    if (!found->indirect)
        return found->address;
    uint16_t pointer;
    memcpy(&pointer, pe->head.base + found->address, sizeof pointer);
    return pointer;
}

static void copy_one(wse_pe *pe, const region *part, uint32_t x, uint32_t y, bool in)
{
    uint32_t size = part->flags & NARROW ? 2 : 4;
    uint32_t address = address_of(pe, part->what);
    if (address + part->elements * size > 48 << 10)
        sim_fault(address, "'%s' with %u elements leaves SRAM", wse.symbols[part->what],
                  part->elements);
    uint8_t *data = pe->head.base + address;
    for (uint32_t number = 0; number < part->elements; number++, data += size) {
        uint32_t *element = element_of(part, x, y, number);
        if (!in)
            *element = 0;
        memcpy(in ? (void *)data : element, in ? (void *)element : data, size);
    }
    wse_about = NULL;
}

static void copy(const region *part, bool in)
{
    for (uint32_t y = 0; y < part->height; y++)
        for (uint32_t x = 0; x < part->width; x++)
            copy_one(pe_of(part, x, y), part, x, y, in);
    wse.now += 100 + part->elements; // the time of copies is not modelled in detail
}

static wse_stream_buffer *buffer_of(wse_stream_buffer **first, uint32_t color)
{
    wse_stream_buffer **link = first;
    while (*link && (*link)->color != color)
        link = &(*link)->next;
    if (!*link) {
        *link = calloc(1, sizeof **link);
        if (!*link)
            sim_give_up("no memory for streams");
        (*link)->color = color;
    }
    return *link;
}

static void append(wse_stream_buffer *buffer, uint32_t word)
{
    if (buffer->first + buffer->count == buffer->capacity) {
        memmove(buffer->data, buffer->data + buffer->first, buffer->count * sizeof word);
        buffer->first = 0;
        if (buffer->count * 2 >= buffer->capacity) {
            buffer->capacity = buffer->capacity ? 2 * buffer->capacity : 64;
            buffer->data = realloc(buffer->data, buffer->capacity * sizeof word);
        }
        if (!buffer->data)
            sim_give_up("no memory for streams");
    }
    buffer->data[buffer->first + buffer->count++] = word;
}

static uint32_t take(wse_stream_buffer *buffer)
{
    buffer->count--;
    return buffer->data[buffer->first++];
}

// The host sends one wavelet per cycle and PE while there is space.
void wse_host_feed(wse_pe *pe)
{
    bool more = false, blocked = false;
    for (wse_stream_buffer *feed = pe->feeds; feed; feed = feed->next) {
        if (!feed->count)
            continue;
        wse_queue *queue = wse_input_of(pe, feed->color);
        if (!queue || wse_queue_is_full(queue)) {
            blocked = true;
            continue;
        }
        wse_wavelet wavelet = {take(feed), (uint8_t)feed->color, 0, 0, wse.now + 1};
        wse_queue_push(queue, wavelet);
        wse_shared->counters[WSE_DELIVERED]++;
        more = true;
    }
    if (more)
        wse_core_at(pe, wse.now + 1);
    (void)blocked; // checked again when a wavelet is taken
}

void wse_host_sink(wse_pe *pe, wse_wavelet wavelet)
{
    append(buffer_of(&pe->sinks, wavelet.color), wavelet.data);
}

static void stream_in(const region *part)
{
    for (uint32_t y = 0; y < part->height; y++)
        for (uint32_t x = 0; x < part->width; x++) {
            wse_pe *pe = pe_of(part, x, y);
            wse_stream_buffer *feed = buffer_of(&pe->feeds, (uint32_t)part->what);
            for (uint32_t number = 0; number < part->elements; number++)
                append(feed, *element_of(part, x, y, number));
            wse_core_at(pe, wse.now + 1);
        }
}

static bool is_fed(void)
{
    for (uint32_t number = 0; number < wse.width * wse.height; number++)
        for (wse_stream_buffer *feed = wse.pes[number].feeds; feed; feed = feed->next)
            if (feed->count)
                return false;
    return true;
}

// Streams to the host that wait for wavelets, in order of request.
static region *wanted;
static uint32_t wanted_count, wanted_room;

static void want(const region *part)
{
    if (wanted_count == wanted_room) {
        wanted_room = wanted_room ? 2 * wanted_room : 8;
        wanted = realloc(wanted, wanted_room * sizeof *wanted);
        if (!wanted)
            sim_give_up("no memory for streams");
    }
    wanted[wanted_count++] = *part;
}

static bool is_there(const region *part)
{
    for (uint32_t y = 0; y < part->height; y++)
        for (uint32_t x = 0; x < part->width; x++)
            if (buffer_of(&pe_of(part, x, y)->sinks, (uint32_t)part->what)->count < part->elements)
                return false;
    return true;
}

static void collect(const region *part)
{
    for (uint32_t y = 0; y < part->height; y++)
        for (uint32_t x = 0; x < part->width; x++) {
            wse_stream_buffer *sink = buffer_of(&pe_of(part, x, y)->sinks, (uint32_t)part->what);
            for (uint32_t number = 0; number < part->elements; number++)
                *element_of(part, x, y, number) = take(sink);
        }
}

static void collect_all(void)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < wanted_count; i++)
        if (is_there(&wanted[i]))
            collect(&wanted[i]);
        else
            wanted[kept++] = wanted[i];
    wanted_count = kept;
}

static void run_streams(const char *name, bool deferred)
{
    wse_run();
    collect_all();
    if (!deferred && (wanted_count || !is_fed()))
        wse_report_stall(name);
}

static void call(const char *name, const uint64_t *arguments)
{
    uint64_t symbol = arguments[0];
    uint32_t count = wse.width * wse.height;
    for (uint32_t number = 0; number < count; number++) {
        wse_pe *pe = &wse.pes[number];
        wse_about = pe;
        if (pe->class->symbols[symbol].entry == WSE_NONE)
            sim_fault(0, "the PE exports no function '%s'", name);
        pe->called = true;
        pe->unblocked = false;
        pe->call_words = arguments + 2;
        pe->call_entry = pe->class->symbols[symbol].entry;
        wse_core_at(pe, wse.now + 1);
    }
    wse_about = NULL;
    wse_run();
    collect_all();
    for (uint32_t number = 0; number < count; number++)
        if (!wse.pes[number].unblocked)
            wse_report_stall(name);
}

WSE_EXPORT void wse_unblock_cmd_stream(wse_head *head)
{
    ((wse_pe *)head)->unblocked = true;
}

static void dump(const uint64_t *arguments)
{
    uint8_t *windows = (uint8_t *)(uintptr_t)arguments[0];
    for (uint32_t number = 0; number < wse.width * wse.height; number++)
        memcpy(windows + (uint64_t)number * (48 << 10), wse.pes[number].head.base, 48 << 10);
}

void wse_command(const char *name, const uint64_t *arguments, uint32_t count)
{
    region part = count > 8 ? region_of(arguments + 1) : (region){0};
    switch (arguments[0]) {
    case COPY_IN:
    case COPY_OUT:
        wse_run();
        copy(&part, arguments[0] == COPY_IN);
        break;
    case STREAM_IN:
        stream_in(&part);
        run_streams(name, part.flags & DEFERRED);
        break;
    case STREAM_OUT:
        want(&part);
        run_streams(name, part.flags & DEFERRED);
        break;
    case CALL:
        name = wse.symbols[arguments[1]];
        sim_fault_kernel_begins(name);
        call(name, arguments + 1);
        break;
    case FINISH:
        run_streams(name, false);
        break;
    case DUMP:
        dump(arguments + 1);
        break;
    default:
        sim_fault(0, "an unknown command");
    }
}
