// SPDX-License-Identifier: Apache-2.0
#include "xtc_work.h"

#include <signal.h>
#include <string.h>

#include "xtc_attend.h"
#include "xtc_error.h"

bool xtc_work_is_mine(const xtc_engine *engine)
{
    return engine->running && pthread_equal(engine->runner, pthread_self());
}

static int32_t run_after(const xtc_command *command)
{
    int32_t status = command->other_driver->wait(command->other_device, command->other_queue,
                                                 command->other_event);
    if (status) // the message is in the other driver's library
        xtc_fail_with(status, command->other_driver->message());
    return status;
}

int32_t xtc_work_run(xtc_device *device, const xtc_command *command)
{
    const xtc_engine_ops *ops = xtc_engine_of(device)->ops;
    switch (command->kind) {
    case XTC_LAUNCH_KERNEL:
        return xtc_fail_launch(ops->start(device, command), &command->launch);
    case XTC_CALL:
        return command->callback(command->data) ? XTC_CALLBACK : XTC_OK;
    case XTC_INTERNAL:
        return command->callback(command->data);
    case XTC_AFTER:
        return run_after(command);
    case XTC_NOTHING:
    case XTC_MARK:
        return XTC_OK;
    default:
        return ops->run(device, command);
    }
}

static bool may_start(const xtc_engine *engine)
{
    return !engine->running && xtc_stream_next(engine) != NULL;
}

static bool may_finish(const xtc_engine *engine)
{
    return engine->kernels > 0 && !engine->finishing;
}

static void wake_waiters(xtc_engine *engine)
{
    if (engine->waiters)
        pthread_cond_broadcast(&engine->changed);
}

static void wake_finisher(xtc_engine *engine)
{
    if (may_finish(engine) && engine->finishers == 0)
        pthread_cond_signal(&engine->kernel);
}

void xtc_work_notify(xtc_engine *engine)
{
    wake_waiters(engine);
    if (!engine->has_threads)
        return;
    if (may_start(engine))
        pthread_cond_signal(&engine->work);
    wake_finisher(engine);
}

static int32_t run_unlocked(xtc_device *device, xtc_engine *engine, const xtc_command *command)
{
    engine->running = true;
    engine->runner = pthread_self();
    pthread_mutex_unlock(&engine->lock);
    xtc_fail_with(XTC_OK, "");
    int32_t status = xtc_work_run(device, command);
    pthread_mutex_lock(&engine->lock);
    engine->running = false;
    return status;
}

static void start_next(xtc_device *device, xtc_engine *engine)
{
    xtc_command *command = xtc_stream_next(engine);
    bool runs = command->stream->status == XTC_OK;
    xtc_stream_start(engine, command);
    int32_t status = runs ? run_unlocked(device, engine, command) : XTC_OK;
    if (runs && status == XTC_OK && command->kind == XTC_LAUNCH_KERNEL)
        engine->kernels++;
    else
        xtc_stream_complete(engine, command, status);
    wake_waiters(engine);
}

static void finish_first(xtc_device *device, xtc_engine *engine)
{
    xtc_command *kernel = engine->started.first;
    while (kernel->done || kernel->kind != XTC_LAUNCH_KERNEL)
        kernel = kernel->next;
    engine->finishing = true;
    pthread_mutex_unlock(&engine->lock);
    int32_t status = xtc_fail_launch(engine->ops->finish(device), &kernel->launch);
    pthread_mutex_lock(&engine->lock);
    engine->finishing = false;
    engine->kernels--;
    xtc_stream_complete(engine, kernel, status);
    wake_waiters(engine);
}

void xtc_work_step(xtc_device *device, xtc_engine *engine, bool waits_for_kernels)
{
    // A kernel may run for a long time, so only threads that wait for kernels may finish it.
    engine->finishers += waits_for_kernels;
    if (may_start(engine)) {
        start_next(device, engine);
    } else if (waits_for_kernels && may_finish(engine)) {
        finish_first(device, engine);
    } else {
        wake_finisher(engine);
        xtc_attend_wait(&engine->changed, &engine->lock);
    }
    engine->finishers -= waits_for_kernels;
}

int32_t xtc_work_until(xtc_device *device, xtc_engine *engine, xtc_stream *stream, xtc_event event)
{
    int32_t status;
    engine->waiters++;
    while ((status = xtc_stream_state(engine, stream, event)) == XTC_PENDING)
        xtc_work_step(device, engine, xtc_stream_needs_kernels(engine, stream, event));
    engine->waiters--;
    xtc_work_notify(engine); // this thread runs no more commands
    return status;
}

static void *start_always(void *argument)
{
    xtc_device *device = argument;
    xtc_engine *engine = xtc_engine_of(device);
    pthread_mutex_lock(&engine->lock);
    while (!engine->stopping) {
        if (may_start(engine)) {
            start_next(device, engine);
            wake_finisher(engine);
        } else {
            pthread_cond_wait(&engine->work, &engine->lock);
        }
    }
    pthread_mutex_unlock(&engine->lock);
    return NULL;
}

static void *finish_always(void *argument)
{
    xtc_device *device = argument;
    xtc_engine *engine = xtc_engine_of(device);
    pthread_mutex_lock(&engine->lock);
    while (!engine->stopping) {
        if (may_finish(engine) && engine->finishers == 0) {
            finish_first(device, engine);
            xtc_work_notify(engine);
        } else {
            pthread_cond_wait(&engine->kernel, &engine->lock);
        }
    }
    pthread_mutex_unlock(&engine->lock);
    return NULL;
}

static void stop_starter(xtc_engine *engine)
{
    engine->stopping = true;
    pthread_mutex_unlock(&engine->lock);
    pthread_join(engine->starter, NULL);
    pthread_mutex_lock(&engine->lock);
    engine->stopping = false;
}

int32_t xtc_work_start_threads(xtc_device *device, xtc_engine *engine)
{
    sigset_t all, before;
    sigfillset(&all); // the program's threads handle signals
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&engine->starter, NULL, start_always, device);
    if (!error) {
        error = pthread_create(&engine->finisher, NULL, finish_always, device);
        if (error)
            stop_starter(engine);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        return xtc_fail(XTC_LOST, "cannot start the command queues' threads: %s", strerror(error));
    engine->has_threads = true;
    return XTC_OK;
}
