// SPDX-License-Identifier: Apache-2.0
#include "xtc_queue.h"

#include <stdlib.h>

#include "xtc_error.h"
#include "xtc_work.h"

// Run a command of a callback immediately, as the callback is the running command.
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
    xtc_stream stream = {.id = XTC_NOW}; // no list refers to it once its command is done
    pthread_mutex_lock(&engine->lock);
    if (xtc_work_is_mine(engine)) {
        status = give_inside(device, engine, command);
        free(command);
    } else {
        xtc_stream_append(engine, &stream, command);
        status = xtc_work_until(device, engine, &stream, 0);
    }
    pthread_mutex_unlock(&engine->lock);
    return status;
}

static int32_t append(xtc_device *device, xtc_engine *engine, xtc_stream *stream, xtc_command *command)
{
    if (!engine->has_threads && xtc_work_start_threads(device, engine))
        return XTC_LOST;
    xtc_stream_append(engine, stream, command);
    xtc_work_notify(engine);
    return XTC_OK;
}

static int32_t give_later(xtc_device *device, xtc_engine *engine, xtc_queue queue,
                          xtc_command *command, xtc_event *event)
{
    pthread_mutex_lock(&engine->lock);
    xtc_stream *stream = xtc_stream_find(engine, queue);
    int32_t status = stream ? append(device, engine, stream, command) : XTC_LOST;
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
    xtc_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return xtc_fail(XTC_USAGE, "out of host memory");
    pthread_mutex_lock(&engine->lock);
    *queue = stream->id = ++engine->last_queue;
    stream->next = engine->streams;
    engine->streams = stream;
    pthread_mutex_unlock(&engine->lock);
    return XTC_OK;
}

void xtc_queue_close(xtc_device *device, xtc_engine *engine, xtc_stream *stream)
{
    xtc_stream **link = &engine->streams;
    while (*link != stream)
        link = &(*link)->next;
    *link = stream->next;
    stream->holds++;
    stream->closed = true;
    xtc_stream_drop(engine, stream);
    xtc_work_notify(engine);
    engine->waiters++;
    while (stream->pending && !xtc_work_is_mine(engine))
        xtc_work_step(device, engine, xtc_stream_needs_kernels(engine, stream, 0));
    engine->waiters--;
    xtc_stream_leave(stream);
}

int32_t xtc_engine_queue_close(xtc_device *device, xtc_queue queue)
{
    xtc_engine *engine = xtc_engine_of(device);
    if (xtc_engine_check(engine))
        return XTC_LOST;
    pthread_mutex_lock(&engine->lock);
    xtc_stream *stream = xtc_stream_find(engine, queue);
    if (stream)
        xtc_queue_close(device, engine, stream);
    pthread_mutex_unlock(&engine->lock);
    return stream ? XTC_OK : XTC_LOST;
}

int32_t xtc_engine_done(xtc_device *device, xtc_queue queue, xtc_event event)
{
    xtc_engine *engine = xtc_engine_of(device);
    if (xtc_engine_check(engine))
        return XTC_LOST;
    pthread_mutex_lock(&engine->lock);
    const xtc_stream *stream = xtc_stream_find(engine, queue);
    int32_t status = stream ? xtc_stream_state(engine, stream, event) : XTC_LOST;
    pthread_mutex_unlock(&engine->lock);
    return status;
}

static int32_t wait_locked(xtc_device *device, xtc_engine *engine, xtc_stream *stream, xtc_event event)
{
    if (xtc_work_is_mine(engine)) {
        int32_t status = xtc_stream_state(engine, stream, event);
        if (status == XTC_PENDING)
            return xtc_fail(XTC_USAGE, "a callback cannot wait for later commands");
        return status;
    }
    stream->holds++;
    int32_t status = xtc_work_until(device, engine, stream, event);
    xtc_stream_leave(stream);
    return status;
}

int32_t xtc_engine_wait(xtc_device *device, xtc_queue queue, xtc_event event)
{
    xtc_engine *engine = xtc_engine_of(device);
    if (xtc_engine_check(engine))
        return XTC_LOST;
    pthread_mutex_lock(&engine->lock);
    xtc_stream *stream = xtc_stream_find(engine, queue);
    int32_t status = stream ? wait_locked(device, engine, stream, event) : XTC_LOST;
    pthread_mutex_unlock(&engine->lock);
    return status;
}
