// SPDX-License-Identifier: Apache-2.0
// Operands of operations: memory, scalars, queues of the fabric, FIFOs.
#include <string.h>

#include "sim_device.h"
#include "wse_sim.h"

#define INFINITE 0x7fff

static void make_memory(wse_stream *stream, const uint16_t *words)
{
    stream->kind = WSE_S_MEMORY;
    stream->rank = (uint8_t)words[2];
    stream->address = words[1];
    stream->length = 1;
    for (uint32_t axis = 0; axis < stream->rank; axis++) {
        stream->extents[axis] = words[3 + axis];
        stream->strides[axis] = (int16_t)(words[7 + axis] * stream->size);
        stream->length *= words[3 + axis];
    }
    stream->indexed = words[11] != 0;
}

// An initialized queue determines the color if the descriptor has none, and always on WSE-3.
static uint32_t color_of(const int8_t *colors, uint32_t queue, uint32_t color, const char *kind)
{
    bool is_set = queue < WSE_QUEUES && colors[queue] >= 0;
    if (wse.by_queue && !is_set)
        sim_fault(0, "%s queue %u was not initialized", kind, queue);
    if (is_set && (wse.by_queue || color == WSE_NONE))
        return (uint32_t)colors[queue];
    if (color == WSE_NONE)
        sim_fault(0, "%s queue %u has no color", kind, queue);
    return color;
}

static void make_input(wse_pe *pe, wse_stream *stream, uint32_t queue, uint32_t color)
{
    color = color_of(pe->input_color, queue, color, "input");
    stream->color = (uint8_t)color;
    stream->queue = (uint8_t)(wse.by_queue ? queue : color);
    wse_input_of(pe, color);
}

static void make_output(wse_pe *pe, wse_stream *stream, uint32_t queue, uint32_t color)
{
    stream->color = (uint8_t)color_of(pe->output_color, queue, color, "output");
    stream->queue = (uint8_t)(queue < WSE_QUEUES ? queue : 0);
    wse_output(pe, stream->queue);
}

static void make_fabric(wse_pe *pe, wse_stream *stream, const uint16_t *words)
{
    bool is_in = (words[0] & 0xff) == WSE_FABIN;
    uint32_t queue = words[1], color = words[2] ? words[2] - 1u : WSE_NONE;
    stream->kind = is_in ? WSE_S_IN : WSE_S_OUT;
    stream->length = words[3] == INFINITE ? WSE_NONE : words[3];
    stream->control = words[4] & WSE_CONTROL;
    stream->advances = (words[4] & WSE_ADVANCE) != 0;
    stream->indexed = (words[4] & WSE_INDEXED) != 0;
    stream->index = words[5];
    stream->transforms = (words[4] & WSE_TRANSFORM) != 0;
    stream->pairs = (words[4] & WSE_PAIRS) && stream->size == 2;
    stream->zeroes = words[4] & WSE_ZERO_FIRST ? 1 : words[4] & WSE_ZERO_SECOND ? 2 : 0;
    if (is_in)
        make_input(pe, stream, queue, color);
    else
        make_output(pe, stream, queue, color);
}

static void make_from_dsd(wse_pe *pe, wse_stream *stream, const wse_dsd *dsd)
{
    switch (dsd->words[0] & 0xff) {
    case WSE_MEM1D:
    case WSE_MEM4D:
        make_memory(stream, dsd->words);
        break;
    case WSE_FABIN:
    case WSE_FABOUT:
        make_fabric(pe, stream, dsd->words);
        break;
    case WSE_FIFO:
        stream->kind = WSE_S_FIFO;
        stream->fifo = dsd->words[1];
        stream->length = WSE_NONE;
        break;
    default:
        sim_fault(0, "an uninitialized descriptor was used");
    }
}

static void merge(wse_options *options, const wse_options *more)
{
    if (more->flags & WSE_ACTIVATE)
        options->activate = more->activate;
    if (more->flags & WSE_UNBLOCK)
        options->unblock = more->unblock;
    if (more->flags & WSE_UT)
        options->ut = more->ut;
    if (more->flags & (WSE_CONTROL_ACTIVATES | WSE_CONTROL_UNBLOCKS))
        options->on_control = more->on_control;
    if (more->flags & WSE_INDEX)
        options->index = more->index;
    options->flags |= more->flags & ~(uint32_t)WSE_SAVE;
}

void wse_stream_make(wse_pe *pe, wse_stream *stream, const wse_operand *operand, uint32_t size,
                     wse_options *options)
{
    memset(stream, 0, sizeof *stream);
    stream->dsr = -1;
    stream->size = (uint8_t)size;
    if (operand->kind == WSE_SCALAR) {
        stream->kind = WSE_S_SCALAR;
        stream->scalar = operand->scalar;
    } else if (operand->kind == WSE_POINTER) {
        stream->kind = WSE_S_MEMORY;
        stream->address = (uint16_t)operand->scalar;
    } else if (operand->kind == WSE_DSD) {
        make_from_dsd(pe, stream, operand->dsd);
    } else {
        wse_dsr *dsr = &pe->dsrs[operand->scalar];
        if (!dsr->loaded)
            sim_fault(0, "descriptor register %u was used before it was loaded",
                      operand->scalar % 16);
        make_from_dsd(pe, stream, &dsr->dsd);
        stream->dsr = dsr->options.flags & WSE_SAVE ? (int32_t)operand->scalar : -1;
        merge(options, &dsr->options);
    }
    if (!(options->flags & WSE_INDEX) || !stream->indexed)
        return;
    if (stream->kind == WSE_S_MEMORY)
        stream->address = (uint16_t)(stream->address + 2 * options->index); // words of 16 bits
    else
        stream->index = options->index;
}

static void step(wse_stream *stream)
{
    for (int axis = stream->rank - 1; axis >= 0; axis--) {
        stream->address = (uint16_t)(stream->address + stream->strides[axis]);
        if (++stream->at[axis] < stream->extents[axis] || axis == 0)
            return;
        stream->address =
            (uint16_t)(stream->address - stream->strides[axis] * stream->extents[axis]);
        stream->at[axis] = 0;
    }
}

bool wse_stream_can_read(wse_pe *pe, const wse_stream *stream)
{
    if (stream->kind == WSE_S_IN) {
        wse_queue *queue = pe->in[stream->queue];
        if (stream->waiting)
            return true;
        if (!queue->count || wse_queue_front(queue)->ready > wse.now)
            return false;
        return stream->transforms || !wse_queue_front(queue)->control;
    }
    if (stream->kind == WSE_S_FIFO)
        return pe->fifos[stream->fifo].used >= pe->class->fifos[stream->fifo].element;
    return true;
}

static uint32_t load(const wse_pe *pe, uint32_t address, uint32_t size)
{
    uint32_t bits = 0;
    memcpy(&bits, pe->head.base + address, size);
    return bits;
}

static uint32_t pop(wse_pe *pe, uint32_t number)
{
    const wse_fifo_shape *shape = &pe->class->fifos[number];
    wse_fifo *fifo = &pe->fifos[number];
    uint32_t bits = load(pe, shape->base + fifo->read, shape->element);
    fifo->read = (fifo->read + shape->element) % shape->nbytes;
    fifo->used -= shape->element;
    if (fifo->wanted_room && shape->nbytes - fifo->used >= fifo->wanted_room) {
        fifo->wanted_room = 0;
        if (shape->on_pop != WSE_NONE)
            wse_task_activate(pe, shape->on_pop);
    }
    return bits;
}

// The two highest bits of a word in a FIFO mark a control wavelet (assumed: both set).
#define TRANSFORMED 0xc0000000u

static uint32_t receive(wse_pe *pe, wse_stream *stream)
{
    if (stream->waiting) {
        stream->waiting = 0;
        return stream->half;
    }
    wse_wavelet wavelet = wse_input_take(pe, stream->queue);
    if (stream->transforms)
        return (wavelet.data & ~TRANSFORMED) | (wavelet.control ? TRANSFORMED : 0);
    if (stream->pairs) {
        stream->waiting = 1;
        stream->half = (uint16_t)(wavelet.data >> 16);
        return wavelet.data & 0xffff;
    }
    return wavelet.data;
}

uint32_t wse_stream_read(wse_pe *pe, wse_stream *stream)
{
    switch (stream->kind) {
    case WSE_S_IN:
        return receive(pe, stream);
    case WSE_S_FIFO:
        return pop(pe, stream->fifo);
    case WSE_S_SCALAR:
        return stream->scalar;
    default: {
        uint32_t bits = load(pe, stream->address, stream->size);
        step(stream);
        return bits;
    }
    }
}

bool wse_stream_can_write(wse_pe *pe, const wse_stream *stream)
{
    if (stream->kind == WSE_S_OUT)
        return !wse_queue_is_full(pe->out[stream->queue]);
    if (stream->kind == WSE_S_FIFO) {
        const wse_fifo_shape *shape = &pe->class->fifos[stream->fifo];
        return pe->fifos[stream->fifo].used + shape->element <= shape->nbytes;
    }
    return true;
}

static void push(wse_pe *pe, uint32_t number, uint32_t bits)
{
    const wse_fifo_shape *shape = &pe->class->fifos[number];
    wse_fifo *fifo = &pe->fifos[number];
    uint32_t at = (fifo->read + fifo->used) % shape->nbytes;
    memcpy(pe->head.base + shape->base + at, &bits, shape->element);
    fifo->used += shape->element;
    if (fifo->wanted_data && fifo->used >= fifo->wanted_data) {
        fifo->wanted_data = 0;
        if (shape->on_push != WSE_NONE)
            wse_task_activate(pe, shape->on_push);
    }
}

bool wse_fifo_stops(wse_pe *pe, const wse_stream *stream, bool reads)
{
    if (stream->kind != WSE_S_FIFO)
        return false;
    if (reads ? wse_stream_can_read(pe, stream) : wse_stream_can_write(pe, stream))
        return false;
    uint32_t element = pe->class->fifos[stream->fifo].element;
    wse_fifo *fifo = &pe->fifos[stream->fifo];
    *(reads ? &fifo->wanted_data : &fifo->wanted_room) = element;
    return true;
}

static void send(wse_pe *pe, wse_stream *stream, uint32_t bits)
{
    bool control = stream->control;
    if (stream->pairs && !stream->waiting && !stream->last) {
        stream->waiting = 1;
        stream->half = (uint16_t)bits;
        return;
    }
    if (stream->pairs) {
        bits = stream->waiting ? stream->half | bits << 16 : bits & 0xffff;
        stream->waiting = 0;
    } else if (stream->transforms) {
        control = (bits & TRANSFORMED) == TRANSFORMED;
        bits &= ~TRANSFORMED;
    } else if (stream->indexed) {
        bits = (bits & 0xffff) | (uint32_t)stream->index << 16;
    } else if (stream->size == 2) {
        bits &= 0xffff;
    }
    uint32_t color = wse_swapped_color(pe, stream->color, WSE_RAMP);
    wse_wavelet wavelet = {bits, (uint8_t)color, control,
                           stream->advances && stream->last, wse.now + wse.ramp};
    wse_queue_push(pe->out[stream->queue], wavelet);
    pe->pending[WSE_RAMP] |= 1u << stream->queue;
    wse_router_at(pe, wavelet.ready);
}

void wse_stream_write(wse_pe *pe, wse_stream *stream, uint32_t bits)
{
    if (stream->kind == WSE_S_OUT) {
        send(pe, stream, bits);
    } else if (stream->kind == WSE_S_FIFO) {
        push(pe, stream->fifo, bits);
    } else if (stream->kind == WSE_S_SCALAR) {
        stream->scalar = bits;
    } else {
        memcpy(pe->head.base + stream->address, &bits, stream->size);
        step(stream);
    }
}

void wse_stream_end(wse_pe *pe, const wse_stream *stream)
{
    if (stream->dsr >= 0 && stream->kind == WSE_S_MEMORY)
        pe->dsrs[stream->dsr].dsd.words[1] = stream->address;
}
