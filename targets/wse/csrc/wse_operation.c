// SPDX-License-Identifier: Apache-2.0
// Operations on descriptors: in one step if all operands are in memory, otherwise at most one
// element per cycle, as the fabric allows. Asynchronous operations run in microthreads.
#include <string.h>

#include "sim_device.h"
#include "wse_sim.h"

// Cycles. Sources: a single operation takes 15 to 17 more cycles than its elements, but loops
// around short operations leave 4 for each, and with descriptor registers a matrix column of 28
// elements took 31.2: most of the overhead overlaps with the start of the next operation.
#define START 4
#define START_REGISTERS 3
#define DRAIN 12
#define START_FABRIC 13 // a stage of a published relay chain takes 16.1, including 4 for hops
#define START_THREAD 6 // for the task that continues

static bool is_memory_only(const wse_operation_state *operation)
{
    bool fabric = wse_stream_is_fabric(&operation->to);
    for (uint32_t i = 0; i < operation->sources; i++)
        fabric |= wse_stream_is_fabric(&operation->from[i]);
    return !fabric;
}

// The length that the program set for a FIFO, for reading or for writing.
static void limit(const wse_pe *pe, wse_stream *stream, bool reads)
{
    if (stream->kind != WSE_S_FIFO)
        return;
    const wse_fifo *fifo = &pe->fifos[stream->fifo];
    uint32_t length = reads ? fifo->read_length : fifo->write_length;
    if (length)
        stream->length = length;
}

static void make(wse_pe *pe, wse_operation_state *operation, uint32_t number,
                 const wse_operand *operands, uint32_t count, const wse_options *options)
{
    memset(operation, 0, sizeof *operation);
    operation->operation = number;
    operation->sources = count - 1;
    operation->options = *options;
    wse_stream_make(pe, &operation->to, &operands[0], wse_size_to(number), &operation->options);
    for (uint32_t i = 0; i + 1 < count; i++)
        wse_stream_make(pe, &operation->from[i], &operands[1 + i], wse_size_from(number, i),
                        &operation->options);
    operation->is_async = operation->options.flags & WSE_ASYNC;
    uint32_t cleared = operation->to.zeroes;
    if (cleared == 2 && operation->sources == 1)
        cleared = 1; // a single source counts as the second
    if (cleared && cleared <= operation->sources &&
        operation->from[cleared - 1].kind == WSE_S_MEMORY)
        operation->cleared = operation->from[cleared - 1];
    limit(pe, &operation->to, false);
    for (uint32_t i = 0; i + 1 < count; i++)
        limit(pe, &operation->from[i], true);
}

// The length of the first source that has one, else that of the destination; 1 if none has.
static void set_length(wse_operation_state *operation, const wse_operand *operands)
{
    bool has_descriptor = operands[0].kind == WSE_DSD || operands[0].kind == WSE_DSR;
    operation->length = 0;
    for (uint32_t i = 0; i < operation->sources && !operation->length; i++) {
        has_descriptor |= operands[1 + i].kind == WSE_DSD || operands[1 + i].kind == WSE_DSR;
        operation->length = operation->from[i].length;
        if (operation->length == WSE_NONE && operation->to.length &&
            operation->to.length != WSE_NONE)
            operation->length = operation->to.length;
    }
    if (!operation->length)
        operation->length = operation->to.length;
    if (!operation->length && !has_descriptor)
        operation->length = 1;
}

static void element(wse_pe *pe, wse_operation_state *operation)
{
    uint32_t bits[3] = {0, 0, 0};
    for (uint32_t i = 0; i < operation->sources; i++)
        bits[i] = wse_stream_read(pe, &operation->from[i]);
    operation->to.last = operation->done + 1 == operation->length;
    uint32_t result = wse_functions[operation->operation](bits[0], bits[1], bits[2]);
    wse_stream_write(pe, &operation->to, result);
    operation->done++;
}

static void stop(wse_pe *pe, wse_operation_state *operation)
{
    operation->busy = false;
    for (uint32_t i = 0; operation->cleared.kind && i < operation->done; i++)
        wse_stream_write(pe, &operation->cleared, 0);
    wse_stream_end(pe, &operation->to);
    for (uint32_t i = 0; i < operation->sources; i++)
        wse_stream_end(pe, &operation->from[i]);
    wse_shared->counters[WSE_ELEMENTS] += operation->done;
}

static void finish(wse_pe *pe, wse_operation_state *operation)
{
    stop(pe, operation);
    if (operation->options.flags & WSE_UNBLOCK)
        wse_task_unblock(pe, operation->options.unblock);
    if (operation->options.flags & WSE_ACTIVATE)
        wse_task_activate(pe, operation->options.activate);
}

static bool can_step(wse_pe *pe, const wse_operation_state *operation)
{
    for (uint32_t i = 0; i < operation->sources; i++)
        if (!wse_stream_can_read(pe, &operation->from[i]))
            return false;
    return wse_stream_can_write(pe, &operation->to);
}

static bool takes_control(wse_pe *pe, const wse_stream *from)
{
    wse_queue *queue = from->kind == WSE_S_IN ? pe->in[from->queue] : NULL;
    if (!queue || !queue->count || wse_queue_front(queue)->ready > wse.now ||
        !wse_queue_front(queue)->control)
        return false;
    wse_input_take(pe, from->queue);
    return true;
}

// With that option, a control wavelet on an input ends the operation.
static bool ends_by_control(wse_pe *pe, wse_operation_state *operation)
{
    uint32_t flags = operation->options.flags;
    if (!(flags & (WSE_CONTROL_ENDS | WSE_CONTROL_ACTIVATES | WSE_CONTROL_UNBLOCKS)))
        return false;
    uint32_t source = 0;
    while (source < operation->sources && !takes_control(pe, &operation->from[source]))
        source++;
    if (source == operation->sources)
        return false;
    if (flags & WSE_CONTROL_ENDS) {
        finish(pe, operation);
        return true;
    }
    stop(pe, operation);
    if (flags & WSE_CONTROL_ACTIVATES)
        wse_task_activate(pe, operation->options.on_control);
    else
        wse_task_unblock(pe, operation->options.on_control);
    return true;
}

// An empty or full FIFO ends a synchronous operation.
static bool ends_by_fifo(wse_pe *pe, wse_operation_state *operation)
{
    bool stops = wse_fifo_stops(pe, &operation->to, false);
    for (uint32_t i = 0; i < operation->sources; i++)
        stops |= wse_fifo_stops(pe, &operation->from[i], true);
    if (!stops || operation->is_async)
        return false;
    operation->is_cut = true;
    stop(pe, operation);
    return true;
}

// Drops data until the number of control wavelets equals the length of the operation.
static void filter(wse_pe *pe, wse_operation_state *operation)
{
    wse_queue *queue = pe->in[operation->from[0].queue];
    if (!queue->count || wse_queue_front(queue)->ready > wse.now)
        return;
    operation->done += wse_input_take(pe, operation->from[0].queue).control;
    if (operation->done >= operation->length)
        finish(pe, operation);
    wse_core_at(pe, wse.now + 1);
}

void wse_operation_advance(wse_pe *pe, wse_operation_state *operation)
{
    if (operation->operation == WSE_DFILT) {
        filter(pe, operation);
        return;
    }
    if (operation->done < operation->length &&
        (ends_by_control(pe, operation) || ends_by_fifo(pe, operation))) {
        wse_core_at(pe, wse.now + 1);
        return;
    }
    if (operation->done < operation->length) {
        if (!can_step(pe, operation))
            return; // checked again when the queue changes
        element(pe, operation);
    }
    if (operation->done >= operation->length)
        finish(pe, operation);
    wse_core_at(pe, wse.now + 1);
}

static void run_now(wse_pe *pe, wse_operation_state *operation, bool registers)
{
    pe->head.clock += (registers ? START_REGISTERS : START) + wse_cycles_of(operation);
    while (operation->done < operation->length)
        element(pe, operation);
    pe->drained = pe->head.clock + DRAIN;
    finish(pe, operation);
}

// The queue of the first operand that has one, beginning with the destination.
static uint32_t queue_of(const wse_operation_state *operation)
{
    if (operation->to.kind == WSE_S_OUT)
        return operation->to.queue;
    for (uint32_t i = 0; i < operation->sources; i++)
        if (operation->from[i].kind == WSE_S_IN)
            return operation->from[i].queue;
    return WSE_NONE;
}

static uint32_t thread_of(wse_pe *pe, const wse_operation_state *operation,
                          const wse_operand *operands)
{
    if (operation->options.flags & WSE_UT)
        return operation->options.ut;
    if (!wse.by_queue) { // a queue's number is its microthread's
        if (operation->to.kind == WSE_S_OUT)
            return operation->to.queue;
        for (uint32_t i = 0; i < operation->sources; i++)
            if (operation->from[i].kind == WSE_S_IN) {
                const wse_operand *operand = &operands[1 + i];
                const wse_dsd *dsd = operand->kind == WSE_DSR ? &pe->dsrs[operand->scalar].dsd
                                                              : operand->dsd;
                if (dsd->words[1] != 0xffff)
                    return dsd->words[1];
            }
    }
    uint32_t queue = queue_of(operation);
    if (queue < wse.microthreads && !pe->threads[queue].busy)
        return queue;
    for (uint32_t ut = 0; ut < wse.microthreads; ut++)
        if (!pe->threads[ut].busy)
            return ut;
    sim_fault(0, "all %u microthreads are busy", wse.microthreads);
}

static void start_thread(wse_pe *pe, const wse_operation_state *operation,
                         const wse_operand *operands)
{
    uint32_t ut = thread_of(pe, operation, operands);
    wse_operation_state *thread = &pe->threads[ut];
    if (thread->busy)
        sim_fault(0,
                  "microthread %u is started again while it is busy (re-entry): the operation in "
                  "line %u has done %u of %u elements",
                  ut, thread->line, thread->done, thread->length);
    *thread = *operation;
    thread->busy = true;
    thread->ut = (uint8_t)ut;
    thread->start = wse.now + START_FABRIC;
    pe->head.clock += START_THREAD;
    wse_core_at(pe, thread->start);
}

// Returns whether the operation completed: FIFOs may end it early.
WSE_EXPORT bool wse_operate(wse_head *head, uint32_t number, const wse_operand *operands,
                            uint32_t count, const wse_options *options, uint32_t line)
{
    wse_pe *pe = (wse_pe *)head;
    wse_operation_state operation;
    make(pe, &operation, number, operands, count, options);
    set_length(&operation, operands);
    operation.line = line;
    if (!operation.is_async && is_memory_only(&operation)) {
        bool registers = operands[0].kind == WSE_DSR;
        run_now(pe, &operation, registers);
        return true;
    }
    wse_sync(pe);
    if (operation.is_async) {
        start_thread(pe, &operation, operands);
        return true;
    }
    pe->main = operation;
    pe->main.busy = true;
    pe->main.start = wse.now + START_FABRIC;
    wse_core_at(pe, pe->main.start);
    wse_wait(pe);
    return !pe->main.is_cut;
}

WSE_EXPORT void wse_load_dsr(wse_head *head, uint32_t number, const wse_dsd *dsd,
                             const wse_options *options)
{
    wse_pe *pe = (wse_pe *)head;
    pe->dsrs[number] = (wse_dsr){*dsd, *options, true};
}

// One word of the descriptor in a register.
WSE_EXPORT void wse_set_dsr(wse_head *head, uint32_t number, uint16_t word, uint16_t value)
{
    wse_dsr *dsr = &((wse_pe *)head)->dsrs[number];
    if (!dsr->loaded)
        sim_fault(0, "descriptor register %u was changed before it was loaded", number % 16);
    dsr->dsd.words[word & 15] = value;
}

WSE_EXPORT void wse_set_fifo_length(wse_head *head, uint32_t number, uint16_t length, bool reads)
{
    wse_fifo *fifo = &((wse_pe *)head)->fifos[number];
    *(reads ? &fifo->read_length : &fifo->write_length) = length;
}

// @map: the loop and the call are in compiled code; elements are read and written here.
#define INPUTS 8

typedef struct {
    uint32_t inputs, done, length;
    wse_stream from[INPUTS], to;
} map_state;

_Static_assert(sizeof(map_state) <= 1024, "sema/builtins/operations.py gives it 1024 bytes");

WSE_EXPORT void wse_map_begin(wse_head *head, void *storage, const wse_operand *operands,
                              uint32_t inputs, uint32_t count, uint64_t sizes)
{
    wse_pe *pe = (wse_pe *)head;
    map_state *state = storage;
    wse_options none = {0};
    memset(state, 0, sizeof *state);
    if (inputs > INPUTS)
        sim_fault(0, "@map with more than %u inputs", INPUTS);
    state->inputs = inputs;
    state->to = (wse_stream){.kind = WSE_S_SCALAR, .dsr = -1};
    if (count > inputs)
        wse_stream_make(pe, &state->to, &operands[inputs], sizes >> (4 * inputs) & 15, &none);
    uint32_t shortest = state->to.length ? state->to.length : WSE_NONE;
    for (uint32_t i = 0; i < inputs; i++) {
        wse_stream_make(pe, &state->from[i], &operands[i], sizes >> (4 * i) & 15, &none);
        if (state->from[i].length && state->from[i].length < shortest)
            shortest = state->from[i].length;
    }
    state->length = shortest == WSE_NONE ? 1 : shortest;
    head->clock += START;
}

// Transfers one element to or from the fabric, as an operation of length 1.
static void move_one(wse_pe *pe, wse_stream *to, wse_stream *from)
{
    wse_sync(pe);
    const wse_stream *fabric = wse_stream_is_fabric(to) ? to : from;
    pe->main = (wse_operation_state){.busy = true, .sources = 1, .length = 1, .start = wse.now};
    pe->main.operation = fabric->size == 4 ? WSE_MOV32 : WSE_MOV16;
    pe->main.to = *to;
    pe->main.from[0] = *from;
    wse_core_at(pe, wse.now + 1);
    wse_wait(pe);
    *to = pe->main.to;
    *from = pe->main.from[0];
}

WSE_EXPORT bool wse_map_next(wse_head *head, void *storage, uint64_t *values)
{
    wse_pe *pe = (wse_pe *)head;
    map_state *state = storage;
    if (state->done == state->length)
        return false;
    for (uint32_t i = 0; i < state->inputs; i++) {
        wse_stream value = {.kind = WSE_S_SCALAR, .dsr = -1};
        if (wse_stream_is_fabric(&state->from[i]))
            move_one(pe, &value, &state->from[i]);
        else
            value.scalar = wse_stream_read(pe, &state->from[i]);
        values[i] = value.scalar;
    }
    state->done++;
    wse_shared->counters[WSE_ELEMENTS]++;
    return true;
}

WSE_EXPORT void wse_map_store(wse_head *head, void *storage, const uint64_t *values)
{
    wse_pe *pe = (wse_pe *)head;
    map_state *state = storage;
    wse_stream value = {.kind = WSE_S_SCALAR, .dsr = -1, .scalar = (uint32_t)values[0]};
    if (wse_stream_is_fabric(&state->to))
        move_one(pe, &state->to, &value);
    else
        wse_stream_write(pe, &state->to, value.scalar);
}
