// SPDX-License-Identifier: Apache-2.0
// Launching programs, waiting for them, and reading their output.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib.h"
#include "timing.h"

static dpu_error_t boot(lib_job *job)
{
    lib_machine *machine = job->machine;
    lib_select_none(machine);
    for (uint32_t i = 0; i < job->count; i++) {
        upmem_dpu *state = &machine->block->dpu[job->targets[i].dpu->number];
        state->selected = state->launched = 1;
    }
    lib_launch *launch = calloc(1, sizeof *launch);
    dpu_error_t status = launch ? lib_request(machine, UPMEM_BOOT, 0) : DPU_ERR_SYSTEM;
    for (uint32_t i = 0; i < machine->rank_count && launch; i++) {
        struct dpu_rank_t *rank = &machine->ranks[i];
        if (!lib_rank_is_in(job, rank))
            continue;
        rank->begun = fmax(job->given, fmax(rank->free, rank->beside)) + cost_LAUNCH;
        rank->running = true;
        rank->is_async = job->is_async;
        rank->launch = launch;
        launch->ranks++;
    }
    return status;
}

static dpu_error_t run_launch(lib_job *job)
{
    dpu_error_t status = lib_take_ranks(job);
    if (status == DPU_OK)
        status = boot(job);
    if (status == DPU_OK && !job->is_async)
        status = lib_take_ranks(job);
    return status;
}

static lib_job *job_of(struct dpu_set_t set, enum lib_kind kind, dpu_error_t *status)
{
    lib_machine *machine = lib_machine_of(set);
    lib_job *job = machine ? lib_new_job(machine, kind, lib_dpu_count(set)) : NULL;
    *status = machine ? DPU_ERR_SYSTEM : DPU_ERR_INVALID_DPU_SET;
    for (uint32_t i = 0; job && i < job->count; i++)
        job->targets[i].dpu = lib_dpu_at(set, i);
    return job;
}

dpu_error_t dpu_launch(struct dpu_set_t dpu_set, dpu_launch_policy_t policy)
{
    dpu_error_t status;
    if (policy != DPU_ASYNCHRONOUS && policy != DPU_SYNCHRONOUS)
        return DPU_ERR_INVALID_LAUNCH_POLICY;
    for (uint32_t i = 0; i < lib_dpu_count(dpu_set); i++)
        if (!lib_dpu_at(dpu_set, i)->program)
            return DPU_ERR_NO_PROGRAM_LOADED;
    lib_job *job = job_of(dpu_set, LIB_LAUNCH, &status);
    if (!job)
        return status;
    job->run = run_launch;
    job->is_async = policy == DPU_ASYNCHRONOUS;
    return lib_give(job);
}

static dpu_error_t run_sync(lib_job *job)
{
    return lib_take_ranks(job);
}

static dpu_error_t wait_for(struct dpu_set_t set, bool is_settling)
{
    dpu_error_t status;
    lib_job *job = job_of(set, LIB_SYNC, &status);
    if (!job)
        return status;
    job->run = run_sync;
    job->is_settling = is_settling;
    return lib_give(job);
}

dpu_error_t dpu_sync(struct dpu_set_t dpu_set)
{
    lib_machine *machine = lib_machine_of(dpu_set);
    dpu_error_t status = wait_for(dpu_set, false);
    if (machine && status == DPU_OK)
        status = lib_wait_all(machine);
    return status;
}

dpu_error_t lib_settle(struct dpu_set_t set);

// Completes all jobs and reports errors, but keeps the host's modelled time, as if the host had
// queued the jobs without waiting.
dpu_error_t lib_settle(struct dpu_set_t set)
{
    return wait_for(set, true);
}

static dpu_error_t run_status(lib_job *job)
{
    bool *answers = job->data;
    dpu_error_t status = DPU_OK;
    answers[0] = true;
    answers[1] = false;
    for (uint32_t i = 0; i < job->count && status == DPU_OK; i++) {
        struct dpu_t *dpu = job->targets[i].dpu;
        bool is_first = i == 0 || job->targets[i - 1].dpu->rank != dpu->rank;
        if (dpu->rank->running && is_first)
            status = lib_advance(job->machine, dpu->rank, job->given);
        const upmem_dpu *state = &job->machine->block->dpu[dpu->number];
        answers[0] = answers[0] && !state->running;
        answers[1] = answers[1] || state->fault;
    }
    return status;
}

dpu_error_t dpu_status(struct dpu_set_t dpu_set, bool *done, bool *fault)
{
    dpu_error_t status;
    bool answers[2] = {false, false};
    lib_job *job = job_of(dpu_set, LIB_SYNC, &status);
    if (!job)
        return status;
    lib_machine *machine = job->machine;
    pthread_mutex_lock(&machine->lock);
    bool waits = machine->first != NULL;
    *lib_clock(machine) += cost_STATUS;
    pthread_mutex_unlock(&machine->lock);
    job->run = run_status;
    job->data = answers;
    status = lib_give(job);
    *done = answers[0] && !waits;
    *fault = answers[1];
    return status;
}

static dpu_error_t run_log(lib_job *job)
{
    lib_machine *machine = job->machine;
    dpu_error_t status = lib_take_ranks(job);
    for (uint32_t i = 0; i < job->count && status == DPU_OK; i++) {
        const struct dpu_t *dpu = job->targets[i].dpu;
        uint64_t nbytes = machine->block->dpu[dpu->number].log_bytes;
        status = lib_request(machine, UPMEM_TAKE_LOG, dpu->number);
        if (status == DPU_OK) {
            fprintf(job->data, "=== DPU#0x%x ===\n", dpu->number);
            fwrite(upmem_scratch(machine->block), 1, nbytes, job->data);
        }
    }
    return status;
}

dpu_error_t dpu_log_read(struct dpu_set_t dpu_set, FILE *stream)
{
    dpu_error_t status;
    lib_job *job = job_of(dpu_set, LIB_SYNC, &status);
    if (!job)
        return status;
    job->run = run_log;
    job->data = stream;
    return lib_give(job);
}
