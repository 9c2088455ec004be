// SPDX-License-Identifier: Apache-2.0
// Reads the tables of a program that image.py writes.
#include <stdlib.h>
#include <string.h>

#include "sim_device.h"
#include "wse_sim.h"

#define MAGIC 0x45535758u

static const uint32_t *words, *end;

static uint32_t number(void)
{
    if (words == end)
        sim_give_up("the program's tables are truncated");
    return *words++;
}

static void *zeroed_array(uint64_t count, uint64_t size)
{
    void *made = calloc(count ? count : 1, size);
    if (!made)
        sim_give_up("no memory for the program's tables");
    return made;
}

static const char *text(void)
{
    uint32_t nbytes = number();
    const char *found = (const char *)words;
    words += (nbytes + 3) / 4;
    return found;
}

// Numbers from WSE_TASKS on are microthreads.
static uint64_t task_bits(uint32_t *threads)
{
    uint64_t bits = 0;
    for (uint32_t count = number(); count; count--) {
        uint32_t id = number();
        if (id < WSE_TASKS)
            bits |= 1ull << id;
        else
            *threads |= 1u << (id - WSE_TASKS) % 32;
    }
    return bits;
}

static void read_route(wse_route *routes)
{
    wse_route *route = &routes[number() % WSE_COLORS];
    route->is_set = 1;
    route->count = (uint8_t)number();
    route->current = (uint8_t)number();
    route->ring = (uint8_t)number();
    route->pop = (uint8_t)number();
    for (uint32_t position = 0; position < 4; position++) {
        uint32_t both = number();
        route->rx[position] = both & 0xff;
        route->tx[position] = both >> 8 & 0xff;
        route->inputs |= (uint8_t)((both >> 16 & 1) << position);
    }
    uint32_t state = number();
    route->teardown = state & 1;
    route->swap = state >> 1 & 3;
    route->filter.kind = number();
    for (uint32_t i = 0; i < 6; i++)
        route->filter.numbers[i] = number();
    route->filter.counter = route->filter.kind == 2 ? 0 : route->filter.numbers[0];
    route->arrived = WSE_NEVER;
    route->moved = WSE_NEVER;
}

static wse_route *read_routes(void)
{
    wse_route *routes = zeroed_array(WSE_COLORS, sizeof *routes);
    for (uint32_t count = number(); count; count--)
        read_route(routes);
    return routes;
}

static void read_tasks(wse_class *class)
{
    for (uint32_t count = number(); count; count--) {
        uint32_t id = number() % WSE_ALL_TASKS;
        wse_task *task = &class->tasks[id];
        task->id = id;
        task->kind = number();
        task->entry = number();
        task->name = text();
        if (id >= WSE_CONTROLS)
            class->controls |= 1ull << (id - WSE_CONTROLS);
        else
            class->bound |= 1ull << id % WSE_TASKS;
        if (task->kind == 1)
            class->data_tasks |= 1ull << id;
    }
    class->own_tables = number();
    uint32_t none = 0;
    class->blocked = task_bits(&class->blocked_threads);
    class->unblocked = task_bits(&class->unblocked_threads);
    class->activated = task_bits(&none);
}

static void read_queues(int8_t *colors, uint8_t *set)
{
    memset(colors, -1, WSE_QUEUES);
    for (uint32_t count = number(); count; count--) {
        uint32_t queue = number() % WSE_QUEUES;
        colors[queue] = (int8_t)(int32_t)number();
        *set |= (uint8_t)(1 << queue);
    }
}

static void read_by_queue(uint32_t *numbers, uint32_t absent)
{
    for (uint32_t i = 0; i < WSE_QUEUES; i++)
        numbers[i] = absent;
    for (uint32_t count = number(); count; count--) {
        uint32_t queue = number() % WSE_QUEUES;
        numbers[queue] = number();
    }
}

static void read_handlers(uint32_t *entries, uint32_t most)
{
    for (uint32_t i = 0; i < most; i++)
        entries[i] = WSE_NONE;
    for (uint32_t count = number(); count; count--) {
        uint32_t which = number() % most;
        entries[which] = number();
    }
}

static void read_class(wse_class *class)
{
    class->name = text();
    class->memory_end = number();
    class->host_in = number();
    class->host_out = number();
    class->segments = number();
    class->initial = words;
    for (uint32_t i = 0; i < class->segments; i++) {
        number();
        text();
    }
    read_tasks(class);
    read_queues(class->input_color, &class->input_set);
    read_queues(class->output_color, &class->output_set);
    read_by_queue(class->table, 0);
    read_by_queue(class->rotation, WSE_NONE);
    class->routes = read_routes();
    class->fifo_count = number();
    class->fifos = zeroed_array(class->fifo_count, sizeof *class->fifos);
    for (uint32_t i = 0; i < class->fifo_count; i++) {
        wse_fifo_shape *fifo = &class->fifos[i];
        fifo->base = number();
        fifo->nbytes = number();
        fifo->element = number();
        fifo->on_push = number();
        fifo->on_pop = number();
    }
    read_handlers(class->teardown, WSE_COLORS);
    read_handlers(class->empty, 2 * WSE_QUEUES);
    class->symbols = zeroed_array(wse.symbol_count, sizeof *class->symbols);
    for (uint32_t i = 0; i < wse.symbol_count; i++) {
        wse_symbol *symbol = &class->symbols[i];
        symbol->address = number();
        symbol->indirect = number();
        symbol->present = number();
        symbol->entry = number();
    }
    class->value_count = number();
    class->values = words;
    for (uint32_t i = 0; i < 2 * class->value_count; i++)
        number();
    class->text_count = number();
    class->texts = zeroed_array(class->text_count, sizeof *class->texts);
    for (uint32_t i = 0; i < class->text_count; i++)
        class->texts[i] = text();
}

static void read_depths(uint32_t *depths, uint32_t *count)
{
    *count = number();
    for (uint32_t i = 0; i < *count; i++)
        depths[i % WSE_QUEUES] = number();
}

static void read_machine(void)
{
    if (number() != MAGIC)
        sim_give_up("the image is not a wafer program");
    wse.arch = number();
    wse.width = number();
    wse.height = number();
    wse.hop = number();
    wse.ramp = number();
    wse.link_buffer = number();
    wse.by_queue = number();
    wse.microthreads = number();
    uint32_t options = number();
    wse.offset_x = number();
    wse.offset_y = number();
    for (uint32_t i = 2; i < options; i++)
        number();
    read_depths(wse.input_depth, &wse.input_count);
    read_depths(wse.output_depth, &wse.output_count);
    wse.symbol_count = number();
    wse.symbols = zeroed_array(wse.symbol_count, sizeof *wse.symbols);
    for (uint32_t i = 0; i < wse.symbol_count; i++)
        wse.symbols[i] = text();
}

static uint64_t mixed(uint64_t seed) // SplitMix64's output function
{
    seed = (seed ^ seed >> 30) * 0xbf58476d1ce4e5b9u;
    seed = (seed ^ seed >> 27) * 0x94d049bb133111ebu;
    return seed ^ seed >> 31;
}

static void fill_memory(wse_pe *pe)
{
    const uint32_t *segment = pe->class->initial;
    for (uint32_t i = 0; i < pe->class->segments; i++) {
        memcpy(pe->head.base + segment[0], segment + 2, segment[1]);
        segment += 2 + (segment[1] + 3) / 4;
    }
}

static void make_pe(wse_pe *pe, uint32_t which, const wse_class *class, const wse_route *routes)
{
    pe->number = which;
    pe->x = which % wse.width;
    pe->y = which / wse.width;
    pe->class = class;
    pe->running = WSE_NONE;
    pe->head.base = wse_memory_window(which);
    pe->head.stack = 48 << 10;
    pe->head.stack_limit = class->memory_end;
    pe->active = class->activated;
    pe->blocked = class->blocked & ~class->unblocked;
    pe->blocked_threads = class->blocked_threads & ~class->unblocked_threads;
    pe->quiet = (~class->data_tasks | class->blocked) & ~class->unblocked;
    memcpy(pe->input_color, class->input_color, sizeof pe->input_color);
    memcpy(pe->output_color, class->output_color, sizeof pe->output_color);
    pe->route = zeroed_array(WSE_COLORS, sizeof *pe->route);
    for (uint32_t color = 0; color < WSE_COLORS; color++) {
        pe->route[color] = routes[color].is_set ? routes[color] : class->routes[color];
        pe->link_used[color % WSE_DIRECTIONS] = WSE_NEVER;
    }
    pe->dsrs = zeroed_array(48, sizeof *pe->dsrs);
    pe->fifos = zeroed_array(class->fifo_count, sizeof *pe->fifos);
    pe->tsc_origin = pe->tsc_stopped = 0;
    pe->tsc_origin -= mixed(wse_shared->settings.seed + which + 1) % 1000000;
    fill_memory(pe);
    for (uint32_t i = 0; i < class->value_count; i++) {
        uint32_t value = number();
        memcpy(pe->head.base + class->values[2 * i], &value, class->values[2 * i + 1]);
    }
    if (pe->active)
        wse_core_at(pe, 1);
}

void wse_load(wse_program *program)
{
    uint64_t count;
    program(&wse.entries, &words, &count);
    end = words + count;
    read_machine();
    wse.class_count = number();
    wse.classes = zeroed_array(wse.class_count, sizeof *wse.classes);
    for (uint32_t i = 0; i < wse.class_count; i++)
        read_class(&wse.classes[i]);
    uint32_t route_count = number();
    wse_route **routes = zeroed_array(route_count, sizeof *routes);
    for (uint32_t i = 0; i < route_count; i++)
        routes[i] = read_routes();
    uint32_t pes = wse.width * wse.height;
    wse_memory_map(pes);
    wse.pes = zeroed_array(pes, sizeof *wse.pes);
    for (uint32_t i = 0; i < pes; i++) {
        uint32_t both = number();
        make_pe(&wse.pes[i], i, &wse.classes[both & 0xffff], routes[both >> 16]);
    }
}
