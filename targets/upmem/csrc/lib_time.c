// SPDX-License-Identifier: Apache-2.0
// Modelled time of the host and of each rank. A rank is simulated only on request.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib.h"
#include "timing.h"

static double host_time;

double *lib_clock(lib_machine *machine)
{
    bool in_callback = machine->busy && pthread_equal(machine->runner, pthread_self());
    return in_callback ? &machine->callback_time : &host_time;
}

double lib_host_time(void)
{
    return host_time;
}

bool lib_rank_is_in(const lib_job *job, const struct dpu_rank_t *rank)
{
    for (uint32_t i = 0; i < job->count; i++)
        if (job->targets[i].dpu->rank == rank)
            return true;
    return false;
}

static uint64_t cycles_until(const struct dpu_rank_t *rank, double time)
{
    double cycles = (time - rank->begun) * rank->machine->block->profile.frequency;
    return cycles > 0 ? (uint64_t)cycles : 0;
}

static void select_rank(const struct dpu_rank_t *rank, uint64_t until)
{
    for (uint32_t i = 0; i < rank->dpus; i++) {
        upmem_dpu *state = &rank->machine->block->dpu[rank->dpu[i].number];
        state->selected = state->running;
        state->until = until;
    }
}

static void report_faults(const struct dpu_rank_t *rank)
{
    for (uint32_t i = 0; i < rank->dpus; i++) {
        const upmem_dpu *state = &rank->machine->block->dpu[rank->dpu[i].number];
        if (!state->fault || !state->launched)
            continue;
        snprintf(rank->machine->fault, sizeof rank->machine->fault,
                 "DPU %u of rank %u, tasklet %u: %s", i, rank->number, state->fault_tasklet,
                 state->fault_text);
        if (!rank->machine->is_quiet)
            fprintf(stderr, "xtc upmem: program '%s', %s\n", rank->dpu[i].program->name,
                    rank->machine->fault);
    }
}

const char *lib_last_fault(struct dpu_set_t set);

const char *lib_last_fault(struct dpu_set_t set)
{
    return lib_machine_of(set)->fault;
}

static dpu_error_t error_of(const struct dpu_rank_t *rank)
{
    dpu_error_t status = DPU_OK;
    for (uint32_t i = 0; i < rank->dpus; i++) {
        uint32_t fault = rank->machine->block->dpu[rank->dpu[i].number].fault;
        if (fault == DPU_STUCK || fault == DPU_LIMIT)
            return DPU_ERR_TIMEOUT;
        if (fault)
            status = DPU_ERR_DPU_FAULT;
    }
    return status;
}

static dpu_error_t end_program(lib_machine *machine, struct dpu_rank_t *rank)
{
    uint64_t cycles = 0;
    for (uint32_t i = 0; i < rank->dpus; i++) {
        const upmem_dpu *state = &machine->block->dpu[rank->dpu[i].number];
        if (state->launched && state->counts.cycles > cycles)
            cycles = state->counts.cycles;
    }
    rank->free = rank->begun + (double)cycles / machine->block->profile.frequency;
    rank->running = false;
    lib_note_busy(machine, rank->begun - cost_LAUNCH, rank->free);
    dpu_error_t status = error_of(rank);
    if (status != DPU_OK)
        report_faults(rank);
    if (status == DPU_ERR_TIMEOUT)
        lib_describe_jobs(machine);
    lib_report_launch(machine, rank);
    for (uint32_t i = 0; i < rank->dpus; i++)
        machine->block->dpu[rank->dpu[i].number].launched = 0;
    if (status != DPU_OK && rank->is_async)
        status = (dpu_error_t)((uint32_t)status | DPU_ERR_ASYNC_JOBS | LIB_LAUNCH << 16);
    return status;
}

// Jobs of a rank run one after another; jobs of different ranks may overlap.
void lib_note_busy(lib_machine *machine, double begin, double end)
{
    double from = fmax(begin, machine->busy_until);
    machine->seconds += fmax(end - from, 0);
    machine->busy_until = fmax(machine->busy_until, end);
}

dpu_error_t lib_take_ranks(lib_job *job)
{
    lib_machine *machine = job->machine;
    dpu_error_t status = DPU_OK;
    bool any = false;
    lib_select_none(machine);
    for (uint32_t i = 0; i < machine->rank_count; i++)
        if (machine->ranks[i].running && lib_rank_is_in(job, &machine->ranks[i])) {
            select_rank(&machine->ranks[i], DPU_NEVER);
            any = true;
        }
    if (any)
        status = lib_request(machine, UPMEM_RUN, 0);
    for (uint32_t i = 0; i < machine->rank_count && any; i++) {
        struct dpu_rank_t *rank = &machine->ranks[i];
        if (!rank->running || !lib_rank_is_in(job, rank))
            continue;
        dpu_error_t ended = end_program(machine, rank);
        status = status == DPU_OK ? ended : status;
    }
    for (uint32_t i = 0; i < job->count; i++)
        job->done = fmax(job->done, job->targets[i].dpu->rank->free);
    return status;
}

void lib_spend(lib_job *job, double seconds)
{
    lib_machine *machine = job->machine;
    for (uint32_t i = 0; i < machine->rank_count; i++) {
        struct dpu_rank_t *rank = &machine->ranks[i];
        if (!lib_rank_is_in(job, rank))
            continue;
        double begin = fmax(job->given, fmax(rank->free, rank->beside));
        rank->free = begin + seconds;
        lib_note_busy(machine, begin, rank->free);
        job->done = fmax(job->done, rank->free);
        lib_report_event(machine, i, lib_kind_name(job->kind), begin, rank->free);
    }
}

dpu_error_t lib_pass_beside(lib_job *job, double seconds)
{
    lib_machine *machine = job->machine;
    bool any = false;
    lib_select_none(machine);
    for (uint32_t i = 0; i < machine->rank_count; i++) {
        struct dpu_rank_t *rank = &machine->ranks[i];
        if (!lib_rank_is_in(job, rank))
            continue;
        double begin = fmax(fmax(job->given, rank->beside), rank->running ? rank->begun : rank->free);
        rank->beside = begin + seconds;
        job->done = fmax(job->done, rank->beside);
        lib_report_event(machine, i, lib_kind_name(job->kind), begin, rank->beside);
        if (!rank->running) {
            rank->free = rank->beside;
            lib_note_busy(machine, begin, rank->beside);
            continue;
        }
        select_rank(rank, cycles_until(rank, rank->beside));
        any = true;
    }
    return any ? lib_request(machine, UPMEM_RUN, 0) : DPU_OK;
}

dpu_error_t lib_advance(lib_machine *machine, struct dpu_rank_t *rank, double time)
{
    lib_select_none(machine);
    select_rank(rank, cycles_until(rank, time));
    return lib_request(machine, UPMEM_RUN, 0);
}
