// SPDX-License-Identifier: Apache-2.0
// Callbacks to the host, in the order of a rank's jobs.
#include <math.h>
#include <stdlib.h>

#include "lib.h"

static dpu_error_t call_each(const lib_job *job)
{
    dpu_error_t status = DPU_OK;
    if (job->flags & DPU_CALLBACK_SINGLE_CALL)
        return job->callback(job->set, 0, job->data);
    if (job->set.kind == DPU_SET_DPU)
        return job->callback(job->set, job->set.dpu->rank->number, job->data);
    for (uint32_t i = 0; i < job->set.list.nr_ranks && status == DPU_OK; i++)
        status = job->callback(dpu_set_from_rank(&job->set.list.ranks[i]), i, job->data);
    return status;
}

static void latch(lib_machine *machine, dpu_error_t status)
{
    if (status != DPU_OK && machine->latched == DPU_OK)
        machine->latched =
            (dpu_error_t)((uint32_t)status | DPU_ERR_ASYNC_JOBS | LIB_CALLBACK << 16);
}

static void *call_detached(void *argument)
{
    lib_job *job = argument;
    lib_machine *machine = job->machine;
    dpu_error_t status = call_each(job);
    if (job->release)
        job->release(job->data);
    pthread_mutex_lock(&machine->lock);
    latch(machine, status);
    machine->callbacks--;
    pthread_cond_broadcast(&machine->changed);
    pthread_mutex_unlock(&machine->lock);
    free(job);
    return NULL;
}

// Runs in a separate thread, so that later jobs do not wait.
static dpu_error_t start_detached(lib_job *job)
{
    pthread_t thread;
    lib_job *copy = malloc(sizeof *copy);
    if (!copy)
        return DPU_ERR_SYSTEM;
    *copy = *job;
    pthread_mutex_lock(&job->machine->lock);
    job->machine->callbacks++;
    pthread_mutex_unlock(&job->machine->lock);
    if (pthread_create(&thread, NULL, call_detached, copy)) {
        pthread_mutex_lock(&job->machine->lock);
        job->machine->callbacks--;
        pthread_mutex_unlock(&job->machine->lock);
        free(copy);
        return DPU_ERR_SYSTEM;
    }
    pthread_detach(thread);
    job->release = NULL; // the thread releases it
    return DPU_OK;
}

static dpu_error_t run_callback(lib_job *job)
{
    lib_machine *machine = job->machine;
    dpu_error_t status = job->parallel ? lib_pass_beside(job, 0) : lib_take_ranks(job);
    if (status != DPU_OK)
        return status;
    job->done = fmax(job->done, job->given);
    if (job->flags & DPU_CALLBACK_NONBLOCKING)
        return start_detached(job);
    double outer = machine->callback_time;
    machine->callback_time = job->done;
    status = call_each(job);
    job->done = fmax(job->done, machine->callback_time);
    machine->callback_time = outer;
    return status;
}

static dpu_error_t new_callback(struct dpu_set_t dpu_set, dpu_callback_flags_t flags,
                                lib_job **job)
{
    lib_machine *machine = lib_machine_of(dpu_set);
    if (!machine)
        return DPU_ERR_INVALID_DPU_SET;
    if (flags & DPU_CALLBACK_NONBLOCKING && !(flags & DPU_CALLBACK_ASYNC))
        return DPU_ERR_NONBLOCKING_SYNC_CALLBACK;
    *job = lib_new_job(machine, LIB_CALLBACK, lib_dpu_count(dpu_set));
    return *job ? DPU_OK : DPU_ERR_SYSTEM;
}

dpu_error_t xtc_dpu_callback(struct dpu_set_t dpu_set,
                             dpu_error_t (*callback)(struct dpu_set_t, uint32_t, void *),
                             void *args, dpu_callback_flags_t flags, void (*release)(void *))
{
    lib_job *job;
    dpu_error_t status = new_callback(dpu_set, flags, &job);
    if (status != DPU_OK) {
        if (release)
            release(args);
        return status;
    }
    for (uint32_t i = 0; i < job->count; i++)
        job->targets[i].dpu = lib_dpu_at(dpu_set, i);
    job->run = run_callback;
    job->parallel = flags & DPU_CALLBACK_PARALLEL;
    job->is_async = flags & DPU_CALLBACK_ASYNC;
    job->set = dpu_set;
    job->callback = callback;
    job->data = args;
    job->release = release;
    job->flags = flags;
    return lib_give(job);
}

dpu_error_t dpu_callback(struct dpu_set_t dpu_set,
                         dpu_error_t (*callback)(struct dpu_set_t, uint32_t, void *), void *args,
                         dpu_callback_flags_t flags)
{
    return xtc_dpu_callback(dpu_set, callback, args, flags, NULL);
}
