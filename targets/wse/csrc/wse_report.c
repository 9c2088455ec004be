// SPDX-License-Identifier: Apache-2.0
// The report of a deadlock: what is blocked, and why.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_device.h"
#include "wse_sim.h"

#define SUMMARY 3 // PEs in the message; the file lists all

typedef struct {
    char text[380]; // of the message
    char *whole;
    size_t used, capacity;
    uint32_t pes;
} report;

static void say(report *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(report *out, const char *format, ...)
{
    char line[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    size_t nbytes = strlen(line) + 1;
    if (out->used + nbytes + 1 > out->capacity) {
        out->capacity = 2 * (out->capacity + nbytes) + 4096;
        out->whole = realloc(out->whole, out->capacity);
        if (!out->whole)
            sim_give_up("no memory for the report");
    }
    out->used += (size_t)sprintf(out->whole + out->used, "%s\n", line);
    if (out->pes <= SUMMARY && strlen(out->text) + strlen(line) + 2 < sizeof out->text) {
        strcat(out->text, "\n");
        strcat(out->text, line);
    }
}

static const char *task_name(const wse_pe *pe)
{
    if (pe->running == WSE_TASKS)
        return "the called function";
    return pe->running < WSE_ALL_TASKS ? pe->class->tasks[pe->running].name : "none";
}

static void describe_operation(report *out, wse_pe *pe, const wse_operation_state *operation,
                               const char *who)
{
    const char *const where = operation->is_async ? "asynchronous operation" : "operation";
    char what[128] = "memory";
    for (uint32_t i = 0; i < operation->sources; i++) {
        const wse_stream *from = &operation->from[i];
        if (wse_stream_can_read(pe, from))
            continue;
        if (from->kind == WSE_S_FIFO) {
            snprintf(what, sizeof what, "an element in FIFO %u", from->fifo);
        } else {
            wse_queue *queue = pe->in[from->queue];
            snprintf(what, sizeof what, "%s of color %u in input queue %u",
                     queue && queue->count ? "the end of a control wavelet" : "a wavelet",
                     from->color, from->queue);
        }
    }
    if (!wse_stream_can_write(pe, &operation->to)) {
        if (operation->to.kind == WSE_S_FIFO)
            snprintf(what, sizeof what, "space in FIFO %u", operation->to.fifo);
        else
            snprintf(what, sizeof what, "space in output queue %u of color %u",
                     operation->to.queue, operation->to.color);
    }
    say(out, "PE (%u, %u), task '%s': %s in line %u, done %u of %u, waits for %s", pe->x, pe->y,
        who, where, operation->line, operation->done, operation->length, what);
}

static void describe_inputs(report *out, wse_pe *pe)
{
    for (uint32_t number = 0; number < WSE_COLORS; number++) {
        wse_queue *queue = pe->in[number];
        if (!queue || !queue->count || wse_reader(pe, number))
            continue;
        const wse_wavelet *front = wse_queue_front(queue);
        const char *why = "nothing reads them";
        if (front->control)
            why = pe->quiet >> number & 1 ? "the queue is blocked" : "its control task is blocked";
        else if (pe->class->data_tasks >> number & 1)
            why = "the data task is blocked";
        say(out, "PE (%u, %u): %u %s of color %u in input queue %u: %s", pe->x, pe->y,
            queue->count, front->control ? "control wavelets" : "wavelets", front->color, number,
            why);
    }
}

static void describe_router(report *out, const wse_pe *pe)
{
    for (uint32_t from = 0; from < WSE_DIRECTIONS; from++)
        for (uint32_t bits = pe->pending[from]; bits; bits &= bits - 1) {
            uint32_t number = (uint32_t)__builtin_ctz(bits);
            wse_queue *queue = from == WSE_RAMP ? pe->out[number] : pe->port[from][number];
            uint32_t color = wse_queue_front(queue)->color;
            const wse_route *route = &pe->route[color];
            const char *why = "the next queue is full";
            if (route->teardown)
                why = "the color is torn down";
            else if (!(route->rx[route->current] >> from & 1))
                why = "the switch does not accept it from there";
            else if (route->tx[route->current] >> WSE_RAMP & 1 &&
                     wse_input_number(pe, color) < 0)
                why = "no input queue has the color";
            say(out, "PE (%u, %u): %u wavelets of color %u wait at the router, from %s: %s", pe->x,
                pe->y, queue->count, color, wse_direction_names[from], why);
        }
}

static void describe_feeds(report *out, const wse_pe *pe)
{
    for (const wse_stream_buffer *feed = pe->feeds; feed; feed = feed->next)
        if (feed->count)
            say(out, "PE (%u, %u): %u wavelets of color %u from the host wait%s", pe->x, pe->y,
                feed->count, feed->color,
                wse_input_number(pe, feed->color) < 0 ? ": no input queue has the color" : "");
}

static bool is_stuck(const wse_pe *pe)
{
    bool busy = pe->state == WSE_WAITING;
    for (uint32_t ut = 0; ut <= WSE_QUEUES; ut++)
        busy |= pe->threads[ut].busy;
    for (uint32_t from = 0; from < WSE_DIRECTIONS; from++)
        busy |= pe->pending[from] != 0;
    return busy;
}

static void describe(report *out, wse_pe *pe)
{
    out->pes++;
    if (pe->state == WSE_WAITING)
        describe_operation(out, pe, &pe->main, task_name(pe));
    for (uint32_t ut = 0; ut <= WSE_QUEUES; ut++)
        if (pe->threads[ut].busy) {
            char who[32];
            snprintf(who, sizeof who, "microthread %u", ut);
            if (pe->blocked_threads >> ut & 1)
                say(out, "PE (%u, %u): %s is blocked", pe->x, pe->y, who);
            else
                describe_operation(out, pe, &pe->threads[ut], who);
        }
    describe_router(out, pe);
    describe_inputs(out, pe);
    describe_feeds(out, pe);
}

static _Noreturn void give_up(const char *whole, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static _Noreturn void give_up(const char *whole, const char *format, ...)
{
    char text[SIM_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (whole)
        sim_fault_with_report(whole, "%s", text);
    sim_fault(0, "%s", text);
}

void wse_report_stall(const char *command)
{
    static report out;
    uint32_t count = wse.width * wse.height, missing = 0, stuck = 0;
    wse_here = wse_about = NULL;
    for (uint32_t number = 0; number < count; number++) {
        missing += !wse.pes[number].unblocked;
        stuck += is_stuck(&wse.pes[number]);
    }
    for (uint32_t number = 0; number < count; number++) {
        wse_pe *pe = &wse.pes[number];
        if (is_stuck(pe))
            describe(&out, pe);
        else if (!pe->unblocked && !stuck && out.pes++ < count)
            say(&out, "PE (%u, %u): idle; the function ended without unblock_cmd_stream", pe->x,
                pe->y);
        else if (pe->feeds)
            describe(&out, pe);
    }
    const char *whole = out.pes > SUMMARY ? out.whole : NULL;
    if (missing && !stuck)
        give_up(whole, "%u of %u PEs never called unblock_cmd_stream%s", missing, count, out.text);
    give_up(whole, "deadlock in cycle %llu: nothing moves, and '%s' is not done%s",
            (unsigned long long)wse.now, command, out.text);
}
