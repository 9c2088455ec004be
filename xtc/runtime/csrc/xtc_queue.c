// SPDX-License-Identifier: Apache-2.0
#include "xtc_queue.h"

#include <stdlib.h>

#include "xtc_error.h"
#include "xtc_work.h"

// A callback on this thread is in the middle of the line: what it asks for happens within it.
static int32_t give_inside(xtc_device *device, xtc_engine *engine, const xtc_command *command)
{
    bool needs_device = command->kind == XTC_LAUNCH_KERNEL || command->kind == XTC_INTERNAL;
    if (needs_device && engine->kernels)
        return xtc_fail(XTC_USAGE, "a parallel callback cannot wait for its device");
    pthread_mutex_unlock(&engine->lock);
    int32_t status = xtc_work_run(device, command);
    if (status == XTC_OK && command->kind == XTC_LAUNCH_KERNEL)
        status = engine->ops->finish(device);
    pthread_mutex_lock(&engine->lock);
    return status;
}

static int32_t give_now(xtc_device *device, xtc_engine *engine, xtc_command *command)
{
    int32_t status;
    xtc_line line = {.id = XTC_NOW}; // nothing is left of it in the lists once it is done
    pthread_mutex_lock(&engine->lock);
    if (xtc_work_is_mine(engine)) {
        status = give_inside(device, engine, command);
        free(command);
    } else {
        xtc_line_append(engine, &line, command);
        status = xtc_work_until(device, engine, &line, 0);
    }
    pthread_mutex_unlock(&engine->lock);
    return status;
}

static int32_t append(xtc_device *device, xtc_engine *engine, xtc_line *line, xtc_command *command)
{
    if (!engine->has_threads && xtc_work_start_threads(device, engine))
        return XTC_LOST;
    xtc_line_append(engine, line, command);
    xtc_work_notify(engine);
    return XTC_OK;
}

static int32_t give_later(xtc_device *device, xtc_engine *engine, xtc_queue queue,
                          xtc_command *command, xtc_event *event)
{
    pthread_mutex_lock(&engine->lock);
    xtc_line *line = xtc_line_find(engine, queue);
    int32_t status = line ? append(device, engine, line, command) : XTC_LOST;
    if (status)
        free(command);
    else if (event)
        *event = engine->last_event;
    pthread_mutex_unlock(&engine->lock);
    return status;
}

int32_t xtc_give(xtc_device *device, xtc_queue queue, xtc_command *command, xtc_event *event)
{
    xtc_engine *engine = xtc_engine_of(device);
    if (event)
        *event = 0;
    if (xtc_engine_check(engine)) {
        free(command);
        return XTC_LOST;
    }
    if (queue == XTC_NOW)
        return give_now(device, engine, command);
    return give_later(device, engine, queue, command, event);
}

int32_t xtc_engine_queue_open(xtc_device *device, xtc_queue *queue)
{
    xtc_engine *engine = xtc_engine_of(device);
    if (xtc_engine_check(engine))
        return XTC_LOST;
    xtc_line *line = calloc(1, sizeof *line);
    if (!line)
        return xtc_fail(XTC_USAGE, "out of host memory");
    pthread_mutex_lock(&engine->lock);
    *queue = line->id = ++engine->last_queue;
    line->next = engine->lines;
    engine->lines = line;
    pthread_mutex_unlock(&engine->lock);
    return XTC_OK;
}

void xtc_queue_close(xtc_device *device, xtc_engine *engine, xtc_line *line)
{
    xtc_line **link = &engine->lines;
    while (*link != line)
        link = &(*link)->next;
    *link = line->next;
    line->holds++;
    line->closed = true;
    xtc_line_drop(engine, line);
    xtc_work_notify(engine);
    engine->waiters++;
    while (line->pending && !xtc_work_is_mine(engine))
        xtc_work_step(device, engine, xtc_line_needs_kernels(engine, line, 0));
    engine->waiters--;
    xtc_line_leave(line);
}

int32_t xtc_engine_queue_close(xtc_device *device, xtc_queue queue)
{
    xtc_engine *engine = xtc_engine_of(device);
    if (xtc_engine_check(engine))
        return XTC_LOST;
    pthread_mutex_lock(&engine->lock);
    xtc_line *line = xtc_line_find(engine, queue);
    if (line)
        xtc_queue_close(device, engine, line);
    pthread_mutex_unlock(&engine->lock);
    return line ? XTC_OK : XTC_LOST;
}

int32_t xtc_engine_done(xtc_device *device, xtc_queue queue, xtc_event event)
{
    xtc_engine *engine = xtc_engine_of(device);
    if (xtc_engine_check(engine))
        return XTC_LOST;
    pthread_mutex_lock(&engine->lock);
    const xtc_line *line = xtc_line_find(engine, queue);
    int32_t status = line ? xtc_line_state(engine, line, event) : XTC_LOST;
    pthread_mutex_unlock(&engine->lock);
    return status;
}

static int32_t wait_locked(xtc_device *device, xtc_engine *engine, xtc_line *line, xtc_event event)
{
    if (xtc_work_is_mine(engine)) {
        int32_t status = xtc_line_state(engine, line, event);
        if (status == XTC_PENDING)
            return xtc_fail(XTC_USAGE, "a callback cannot wait for what comes after it");
        return status;
    }
    line->holds++;
    int32_t status = xtc_work_until(device, engine, line, event);
    xtc_line_leave(line);
    return status;
}

int32_t xtc_engine_wait(xtc_device *device, xtc_queue queue, xtc_event event)
{
    xtc_engine *engine = xtc_engine_of(device);
    if (xtc_engine_check(engine))
        return XTC_LOST;
    pthread_mutex_lock(&engine->lock);
    xtc_line *line = xtc_line_find(engine, queue);
    int32_t status = line ? wait_locked(device, engine, line, event) : XTC_LOST;
    pthread_mutex_unlock(&engine->lock);
    return status;
}
