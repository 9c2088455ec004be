// SPDX-License-Identifier: Apache-2.0
#include "xtc_engine.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xtc_error.h"
#include "xtc_queue.h"
#include "xtc_work.h"

void xtc_engine_open(xtc_engine *engine, const xtc_engine_ops *ops)
{
    memset(engine, 0, sizeof *engine);
    engine->ops = ops;
    engine->owner = getpid();
    pthread_mutex_init(&engine->lock, NULL);
    pthread_cond_init(&engine->changed, NULL);
    pthread_cond_init(&engine->work, NULL);
    pthread_cond_init(&engine->kernel, NULL);
}

int32_t xtc_engine_check(const xtc_engine *engine)
{
    if (engine->owner != getpid())
        return xtc_fail(XTC_LOST, "the device was opened by another process");
    if (engine->closed)
        return xtc_fail(XTC_LOST, "the device is closed");
    return XTC_OK;
}

bool xtc_engine_runs_here(xtc_engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    bool here = xtc_work_is_mine(engine);
    pthread_mutex_unlock(&engine->lock);
    return here;
}

int32_t xtc_engine_stop(xtc_device *device, xtc_queue queue, int32_t status)
{
    xtc_engine *engine = xtc_engine_of(device);
    if (queue == XTC_NOW || status == XTC_OK)
        return status;
    pthread_mutex_lock(&engine->lock);
    for (xtc_stream *stream = engine->streams; stream; stream = stream->next)
        if (stream->id == queue)
            xtc_stream_fail(stream, engine->last_event + 1, status);
    pthread_mutex_unlock(&engine->lock);
    return status;
}

void xtc_engine_close(xtc_device *device)
{
    xtc_engine *engine = xtc_engine_of(device);
    pthread_mutex_lock(&engine->lock);
    engine->closed = true;
    while (engine->streams)
        xtc_queue_close(device, engine, engine->streams);
    engine->waiters++;
    while (engine->waiting.first || engine->started.first || engine->waiters > 1)
        xtc_work_step(device, engine, true);
    engine->waiters--;
    engine->stopping = true;
    pthread_cond_signal(&engine->work);
    pthread_cond_signal(&engine->kernel);
    pthread_mutex_unlock(&engine->lock);
    if (engine->has_threads) {
        pthread_join(engine->starter, NULL);
        pthread_join(engine->finisher, NULL);
    }
}

void xtc_engine_release(xtc_engine *engine)
{
    while (engine->streams) { // opened during the close
        xtc_stream *stream = engine->streams;
        engine->streams = stream->next;
        free(stream);
    }
    pthread_cond_destroy(&engine->kernel);
    pthread_cond_destroy(&engine->work);
    pthread_cond_destroy(&engine->changed);
    pthread_mutex_destroy(&engine->lock);
}
