// SPDX-License-Identifier: Apache-2.0
// Jobs in order of submission. The caller runs a synchronous job if no other job is waiting; a
// thread runs the others.
#include <stdio.h>
#include <stdlib.h>

#include "lib.h"
#include "timing.h"
#include "xtc_attend.h"

static const char *const kind_names[LIB_KINDS] = {
    [LIB_LAUNCH] = "launch",
    [LIB_SYNC] = "sync",
    [LIB_COPY_TO_WRAM] = "copy to WRAM",
    [LIB_COPY_FROM_WRAM] = "copy from WRAM",
    [LIB_COPY_TO_MRAM] = "copy to MRAM",
    [LIB_COPY_FROM_MRAM] = "copy from MRAM",
    [LIB_CALLBACK] = "callback",
    [LIB_FIFO_PUSH] = "FIFO push",
    [LIB_FIFO_FLUSH] = "FIFO flush",
    [LIB_LOAD] = "load",
};

const char *lib_kind_name(enum lib_kind kind)
{
    return kind_names[kind];
}

static void describe(const lib_job *job, const char *state)
{
    fprintf(stderr, "xtc upmem:   job %llu: %s%s%s, %s\n", (unsigned long long)job->number,
            job->parallel ? "parallel " : "", job->is_async ? "asynchronous " : "",
            kind_names[job->kind], state);
}

void lib_describe_jobs(const lib_machine *machine)
{
    fprintf(stderr, "xtc upmem: the program waits for something that cannot come: jobs start in "
                    "their order, and only parallel ones beside a program\n");
    if (machine->current)
        describe(machine->current, "waits for the end of the program");
    for (const lib_job *job = machine->first; job; job = job->next)
        describe(job, "waits for the job before it");
}

lib_job *lib_new_job(lib_machine *machine, enum lib_kind kind, uint32_t targets)
{
    lib_job *job = calloc(1, sizeof *job + targets * sizeof *job->targets);
    if (!job)
        return NULL;
    job->kind = kind;
    job->machine = machine;
    job->targets = (lib_target *)(job + 1);
    job->count = targets;
    return job;
}

static void free_job(lib_job *job)
{
    if (job->release)
        job->release(job->data);
    free(job->owned);
    free(job);
}

static bool is_runner(const lib_machine *machine)
{
    return machine->busy && pthread_equal(machine->runner, pthread_self());
}

static void drop(lib_machine *machine, lib_job *job)
{
    machine->finished++;
    free_job(job);
}

static void drop_all(lib_machine *machine)
{
    while (machine->first) {
        lib_job *job = machine->first;
        machine->first = job->next;
        drop(machine, job);
    }
    machine->last = NULL;
}

// The error of an asynchronous job, in the form that waiting calls return.
static dpu_error_t encoded(const lib_job *job, dpu_error_t status)
{
    if (status == DPU_OK || (uint32_t)status & DPU_ERR_ASYNC_JOBS)
        return status;
    return (dpu_error_t)((uint32_t)status | DPU_ERR_ASYNC_JOBS | (uint32_t)job->kind << 16);
}

// Runs the job at the head, without holding the lock.
static dpu_error_t run_job(lib_machine *machine, lib_job *job)
{
    machine->busy = true;
    machine->runner = pthread_self();
    machine->current = job;
    pthread_mutex_unlock(&machine->lock);
    dpu_error_t status = job->run(job);
    pthread_mutex_lock(&machine->lock);
    machine->busy = false;
    machine->current = NULL;
    machine->finished++;
    pthread_cond_broadcast(&machine->changed);
    return status;
}

static void run_first(lib_machine *machine)
{
    lib_job *job = machine->first;
    machine->first = job->next;
    if (!machine->first)
        machine->last = NULL;
    dpu_error_t status = encoded(job, run_job(machine, job));
    if (status != DPU_OK && machine->latched == DPU_OK) {
        machine->latched = status;
        machine->is_dropping = true;
        drop_all(machine);
        pthread_cond_broadcast(&machine->changed);
    }
    free_job(job);
}

static void *work_always(void *argument)
{
    lib_machine *machine = argument;
    pthread_mutex_lock(&machine->lock);
    while (!machine->stopping) {
        if (machine->first && !machine->busy)
            run_first(machine);
        else
            pthread_cond_wait(machine->first ? &machine->changed : &machine->work, &machine->lock);
    }
    pthread_mutex_unlock(&machine->lock);
    return NULL;
}

static dpu_error_t give_later(lib_machine *machine, lib_job *job)
{
    if (machine->is_dropping) {
        drop(machine, job);
        return DPU_OK;
    }
    if (!machine->has_thread)
        machine->has_thread = !pthread_create(&machine->thread, NULL, work_always, machine);
    if (!machine->has_thread) {
        free_job(job);
        return DPU_ERR_SYSTEM;
    }
    if (machine->last)
        machine->last->next = job;
    else
        machine->first = job;
    machine->last = job;
    pthread_cond_signal(&machine->work);
    return DPU_OK;
}

static dpu_error_t take_latched(lib_machine *machine)
{
    dpu_error_t status = machine->latched;
    machine->latched = DPU_OK;
    machine->is_dropping = false;
    return status;
}

// Runs the jobs that wait before it, too.
static dpu_error_t give_now(lib_machine *machine, lib_job *job)
{
    while (machine->latched == DPU_OK && (machine->first || machine->busy)) {
        if (machine->first && !machine->busy)
            run_first(machine);
        else
            xtc_attend_wait(&machine->changed, &machine->lock);
    }
    dpu_error_t status = take_latched(machine);
    if (status == DPU_OK)
        status = run_job(machine, job);
    else
        machine->finished++;
    double *clock = lib_clock(machine);
    if (job->done > *clock && !job->is_settling)
        *clock = job->done;
    free_job(job);
    return status;
}

// Inside a callback it runs at once, as a part of the callback's job.
static dpu_error_t give_inside(lib_machine *machine, lib_job *job)
{
    lib_job *outer = machine->current;
    pthread_mutex_unlock(&machine->lock);
    machine->current = job;
    dpu_error_t status = job->run(job);
    machine->current = outer;
    if (job->done > machine->callback_time)
        machine->callback_time = job->done;
    pthread_mutex_lock(&machine->lock);
    machine->finished++;
    free_job(job);
    return status;
}

dpu_error_t lib_give(lib_job *job)
{
    lib_machine *machine = job->machine;
    dpu_error_t status;
    pthread_mutex_lock(&machine->lock);
    job->given = *lib_clock(machine);
    job->number = machine->given++;
    if (is_runner(machine))
        status = give_inside(machine, job);
    else if (job->is_async)
        status = give_later(machine, job);
    else
        status = give_now(machine, job);
    pthread_mutex_unlock(&machine->lock);
    return status;
}

dpu_error_t lib_wait_all(lib_machine *machine)
{
    pthread_mutex_lock(&machine->lock);
    while (machine->first || machine->busy || machine->callbacks) {
        if (machine->first && !machine->busy)
            run_first(machine);
        else
            xtc_attend_wait(&machine->changed, &machine->lock);
    }
    dpu_error_t status = take_latched(machine);
    pthread_mutex_unlock(&machine->lock);
    return status;
}

void lib_queue_open(lib_machine *machine)
{
    pthread_mutex_init(&machine->lock, NULL);
    pthread_cond_init(&machine->changed, NULL);
    pthread_cond_init(&machine->work, NULL);
}

void lib_queue_close(lib_machine *machine)
{
    pthread_mutex_lock(&machine->lock);
    machine->stopping = true;
    drop_all(machine);
    pthread_cond_broadcast(&machine->work);
    pthread_cond_broadcast(&machine->changed);
    pthread_mutex_unlock(&machine->lock);
    if (machine->has_thread)
        pthread_join(machine->thread, NULL);
    pthread_mutex_destroy(&machine->lock);
    pthread_cond_destroy(&machine->changed);
    pthread_cond_destroy(&machine->work);
}
