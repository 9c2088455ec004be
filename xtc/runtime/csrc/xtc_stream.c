// SPDX-License-Identifier: Apache-2.0
#include "xtc_stream.h"

#include <stdlib.h>
#include <string.h>

#include "xtc_error.h"

static const char *const names[] = {
    [XTC_COPY_TO] = "copy_to",
    [XTC_COPY_FROM] = "copy_from",
    [XTC_COPY_WITHIN] = "copy_within",
    [XTC_FILL] = "fill",
    [XTC_LAUNCH_KERNEL] = "launch",
    [XTC_CALL] = "callback",
    [XTC_INTERNAL] = "call",
    [XTC_AFTER] = "after",
    [XTC_NOTHING] = "after",
    [XTC_MARK] = "event",
};

void xtc_list_append(xtc_list *list, xtc_command *command)
{
    command->next = NULL;
    if (list->last)
        list->last->next = command;
    else
        list->first = command;
    list->last = command;
}

xtc_command *xtc_list_pop(xtc_list *list)
{
    xtc_command *command = list->first;
    list->first = command->next;
    if (!list->first)
        list->last = NULL;
    return command;
}

static void unlink_command(xtc_list *list, xtc_command *command)
{
    xtc_command *before = NULL;
    for (xtc_command *listed = list->first; listed != command; listed = listed->next)
        before = listed;
    if (before)
        before->next = command->next;
    else
        list->first = command->next;
    if (list->last == command)
        list->last = before;
}

void xtc_stream_append(xtc_engine *engine, xtc_stream *stream, xtc_command *command)
{
    command->stream = stream;
    command->event = ++engine->last_event;
    command->number = stream->given;
    command->order = stream->appended++;
    stream->given += command->kind != XTC_MARK;
    stream->pending++;
    stream->holds++;
    engine->parallel += command->parallel;
    xtc_list_append(&engine->waiting, command);
}

static bool may_start(const xtc_engine *engine, const xtc_command *command)
{
    if (command->parallel || command->stream->status)
        return true;
    if (command->kind == XTC_LAUNCH_KERNEL)
        return engine->kernels < engine->ops->max_started;
    return engine->kernels == 0;
}

xtc_command *xtc_stream_next(const xtc_engine *engine)
{
    xtc_command *command = engine->waiting.first;
    if (!command || may_start(engine, command))
        return command;
    if (!engine->parallel)
        return NULL;
    while (command && !(command->parallel && command->order == command->stream->started))
        command = command->next;
    return command;
}

void xtc_stream_start(xtc_engine *engine, xtc_command *command)
{
    unlink_command(&engine->waiting, command);
    command->stream->started++;
    engine->parallel -= command->parallel;
    xtc_list_append(&engine->started, command);
}

xtc_stream *xtc_stream_find(const xtc_engine *engine, xtc_queue id)
{
    for (xtc_stream *stream = engine->streams; stream; stream = stream->next)
        if (stream->id == id)
            return stream;
    xtc_fail(XTC_LOST, "the command queue is closed");
    return NULL;
}

void xtc_stream_fail(xtc_stream *stream, xtc_event event, int32_t status)
{
    if (stream->status)
        return;
    stream->status = status;
    stream->failed = event;
    memcpy(stream->message, xtc_message(), sizeof stream->message);
}

void xtc_stream_leave(xtc_stream *stream)
{
    if (--stream->holds == 0 && stream->closed)
        free(stream);
}

static void release(xtc_command *command)
{
    xtc_stream *stream = command->stream;
    free(command);
    xtc_stream_leave(stream);
}

static void settle(xtc_engine *engine)
{
    while (engine->started.first && engine->started.first->done) {
        xtc_command *command = xtc_list_pop(&engine->started);
        xtc_stream *stream = command->stream;
        if (!stream->status || command->event < stream->failed)
            stream->finished = command->event;
        release(command);
    }
}

void xtc_stream_complete(xtc_engine *engine, xtc_command *command, int32_t status)
{
    xtc_stream *stream = command->stream;
    if (status && !stream->status) {
        if (stream->id != XTC_NOW)
            xtc_fail(status, "command %llu of the queue, %s: %s",
                     (unsigned long long)command->number, names[command->kind], xtc_message());
        xtc_stream_fail(stream, command->event, status);
    }
    command->done = true;
    stream->pending--;
    settle(engine);
}

void xtc_stream_drop(xtc_engine *engine, xtc_stream *stream)
{
    xtc_list kept = {NULL, NULL};
    while (engine->waiting.first) {
        xtc_command *command = xtc_list_pop(&engine->waiting);
        if (command->stream != stream) {
            xtc_list_append(&kept, command);
            continue;
        }
        xtc_stream_fail(stream, command->event, xtc_fail(XTC_LOST, "the command queue is closed"));
        engine->parallel -= command->parallel;
        stream->pending--;
        release(command);
    }
    engine->waiting = kept;
}

static int32_t failure_of(const xtc_stream *stream, xtc_event event)
{
    if (stream->status && event >= stream->failed)
        return xtc_fail_with(stream->status, stream->message);
    return XTC_OK;
}

int32_t xtc_stream_state(const xtc_engine *engine, const xtc_stream *stream, xtc_event event)
{
    if (event == 0)
        return stream->pending ? XTC_PENDING : failure_of(stream, UINT64_MAX);
    if (event <= stream->finished)
        return XTC_OK;
    for (const xtc_command *command = engine->started.first; command; command = command->next)
        if (command->event == event)
            return command->done ? failure_of(stream, event) : XTC_PENDING;
    return failure_of(stream, event) ? stream->status : XTC_PENDING;
}

bool xtc_stream_needs_kernels(const xtc_engine *engine, const xtc_stream *stream, xtc_event event)
{
    for (const xtc_command *listed = engine->waiting.first; listed; listed = listed->next)
        if (listed->stream == stream && !listed->parallel && (event == 0 || listed->event <= event))
            return true;
    for (const xtc_command *listed = engine->started.first; listed; listed = listed->next)
        if (listed->stream == stream && listed->kind == XTC_LAUNCH_KERNEL && !listed->done &&
            (event == 0 || listed->event == event))
            return true;
    return false;
}
