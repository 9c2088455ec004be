// SPDX-License-Identifier: Apache-2.0
#include "xtc_line.h"

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
    for (xtc_command *one = list->first; one != command; one = one->next)
        before = one;
    if (before)
        before->next = command->next;
    else
        list->first = command->next;
    if (list->last == command)
        list->last = before;
}

void xtc_line_append(xtc_engine *engine, xtc_line *line, xtc_command *command)
{
    command->line = line;
    command->event = ++engine->last_event;
    command->number = line->given;
    command->order = line->appended++;
    line->given += command->kind != XTC_MARK;
    line->pending++;
    line->holds++;
    engine->parallel += command->parallel;
    xtc_list_append(&engine->waiting, command);
}

static bool may_start(const xtc_engine *engine, const xtc_command *command)
{
    if (command->parallel || command->line->status)
        return true;
    if (command->kind == XTC_LAUNCH_KERNEL)
        return engine->kernels < engine->ops->max_started;
    return engine->kernels == 0;
}

xtc_command *xtc_line_next(const xtc_engine *engine)
{
    xtc_command *command = engine->waiting.first;
    if (!command || may_start(engine, command))
        return command;
    if (!engine->parallel)
        return NULL;
    while (command && !(command->parallel && command->order == command->line->started))
        command = command->next;
    return command;
}

void xtc_line_start(xtc_engine *engine, xtc_command *command)
{
    unlink_command(&engine->waiting, command);
    command->line->started++;
    engine->parallel -= command->parallel;
    xtc_list_append(&engine->started, command);
}

xtc_line *xtc_line_find(const xtc_engine *engine, xtc_queue id)
{
    for (xtc_line *line = engine->lines; line; line = line->next)
        if (line->id == id)
            return line;
    xtc_fail(XTC_LOST, "the command queue is closed");
    return NULL;
}

void xtc_line_fail(xtc_line *line, xtc_event event, int32_t status)
{
    if (line->status)
        return;
    line->status = status;
    line->failed = event;
    memcpy(line->message, xtc_message(), sizeof line->message);
}

void xtc_line_leave(xtc_line *line)
{
    if (--line->holds == 0 && line->closed)
        free(line);
}

static void release(xtc_command *command)
{
    xtc_line *line = command->line;
    free(command);
    xtc_line_leave(line);
}

static void settle(xtc_engine *engine)
{
    while (engine->started.first && engine->started.first->done) {
        xtc_command *command = xtc_list_pop(&engine->started);
        xtc_line *line = command->line;
        if (!line->status || command->event < line->failed)
            line->finished = command->event;
        release(command);
    }
}

void xtc_line_complete(xtc_engine *engine, xtc_command *command, int32_t status)
{
    xtc_line *line = command->line;
    if (status && !line->status) {
        if (line->id != XTC_NOW)
            xtc_fail(status, "command %llu of the queue, %s: %s",
                     (unsigned long long)command->number, names[command->kind], xtc_message());
        xtc_line_fail(line, command->event, status);
    }
    command->done = true;
    line->pending--;
    settle(engine);
}

void xtc_line_drop(xtc_engine *engine, xtc_line *line)
{
    xtc_list kept = {NULL, NULL};
    while (engine->waiting.first) {
        xtc_command *command = xtc_list_pop(&engine->waiting);
        if (command->line != line) {
            xtc_list_append(&kept, command);
            continue;
        }
        xtc_line_fail(line, command->event, xtc_fail(XTC_LOST, "the command queue is closed"));
        engine->parallel -= command->parallel;
        line->pending--;
        release(command);
    }
    engine->waiting = kept;
}

static int32_t failure_of(const xtc_line *line, xtc_event event)
{
    if (line->status && event >= line->failed)
        return xtc_fail_with(line->status, line->message);
    return XTC_OK;
}

int32_t xtc_line_state(const xtc_engine *engine, const xtc_line *line, xtc_event event)
{
    if (event == 0)
        return line->pending ? XTC_PENDING : failure_of(line, UINT64_MAX);
    if (event <= line->finished)
        return XTC_OK;
    for (const xtc_command *command = engine->started.first; command; command = command->next)
        if (command->event == event)
            return command->done ? failure_of(line, event) : XTC_PENDING;
    return failure_of(line, event) ? line->status : XTC_PENDING;
}

bool xtc_line_needs_kernels(const xtc_engine *engine, const xtc_line *line, xtc_event event)
{
    for (const xtc_command *one = engine->waiting.first; one; one = one->next)
        if (one->line == line && !one->parallel && (event == 0 || one->event <= event))
            return true;
    for (const xtc_command *one = engine->started.first; one; one = one->next)
        if (one->line == line && one->kind == XTC_LAUNCH_KERNEL && !one->done &&
            (event == 0 || one->event == event))
            return true;
    return false;
}
