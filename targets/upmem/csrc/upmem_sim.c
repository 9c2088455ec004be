// SPDX-License-Identifier: Apache-2.0
// The main program of the DPU simulator, which the host's library starts as a process.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_device.h"
#include "upmem_block.h"
#include "upmem_pool.h"
#include "upmem_program.h"

static upmem_block *block;
static dpu *dpus;
static uint32_t *chosen; // numbers of the request's DPUs
static uint32_t chosen_count;

static void where(sim_text *text)
{
    (void)text; // many DPUs run concurrently
}

static void describe_fault(upmem_dpu *state, dpu *dpu)
{
    upmem_program *program = upmem_program_of(state->program);
    upmem_line line = upmem_program_line(program, dpu->fault_pc);
    if (!line.file) // an arithmetic routine
        line = upmem_program_line(program, dpu->fault_caller);
    int used = snprintf(state->fault_text, sizeof state->fault_text, "%s",
                        dpu_fault_name(dpu->fault));
    if (dpu->fault_address && used > 0 && used < UPMEM_TEXT)
        used += snprintf(state->fault_text + used, UPMEM_TEXT - (size_t)used, dpu->fault == DPU_DMA_SIZE ? ", not %u" : ", address 0x%x",
                         dpu->fault_address);
    if (line.file && used > 0 && used < UPMEM_TEXT)
        snprintf(state->fault_text + used, UPMEM_TEXT - (size_t)used, ", at %s:%u", line.file,
                 line.line);
}

static void publish(upmem_dpu *state, dpu *dpu)
{
    state->counts = dpu->counts;
    state->log_bytes = dpu->log_used;
    state->done = dpu_is_done(dpu);
    if (state->done)
        state->running = 0;
    state->fault = dpu->fault;
    state->fault_tasklet = dpu->fault_tasklet;
    state->fault_address = dpu->fault_address;
    state->fault_pc = dpu->fault_pc;
}

static void run_dpu(uint32_t index)
{
    uint32_t number = chosen[index];
    upmem_dpu *state = &block->dpu[number];
    if (!state->running)
        return;
    if (state->until == DPU_NEVER)
        dpu_run_to_end(&dpus[number]);
    else
        dpu_run(&dpus[number], state->until, DPU_NEVER);
    publish(state, &dpus[number]);
}

static void boot_dpu(uint32_t number)
{
    upmem_dpu *state = &block->dpu[number];
    dpus[number].program = &upmem_program_of(state->program)->code;
    dpu_boot(&dpus[number]);
    publish(state, &dpus[number]);
    state->running = 1;
    state->done = 0;
    state->fault_text[0] = '\0';
}

static void select_dpus(void)
{
    chosen_count = 0;
    for (uint32_t i = 0; i < block->dpus; i++)
        if (block->dpu[i].selected)
            chosen[chosen_count++] = i;
}

static void assign(uint64_t handle)
{
    const upmem_program *program = upmem_program_of(handle);
    for (uint32_t i = 0; program && i < chosen_count; i++) {
        block->dpu[chosen[i]].program = handle;
        upmem_program_write(program, &block->profile, &dpus[chosen[i]]);
    }
}

static void run(void)
{
    upmem_pool_run(block->threads, chosen_count, run_dpu);
    for (uint32_t i = 0; i < chosen_count; i++) {
        upmem_dpu *state = &block->dpu[chosen[i]];
        if (state->fault && !state->fault_text[0])
            describe_fault(state, &dpus[chosen[i]]);
    }
}

static void take_log(uint32_t number)
{
    dpu *dpu = &dpus[number];
    memcpy(upmem_scratch(block), dpu->log ? dpu->log : "", dpu->log_used);
    dpu->log_used = 0;
    block->dpu[number].log_bytes = 0;
}

static void take_profile(uint64_t handle)
{
    upmem_program *program = upmem_program_of(handle);
    upmem_count *out = upmem_scratch(block);
    uint32_t most = UPMEM_SCRATCH / sizeof *out;
    for (uint32_t i = 0; program && program->code.issued && i < program->code.length; i++) {
        upmem_line line = upmem_program_line(program, DPU_IRAM_BASE + 4 * i);
        if (i == most)
            return;
        out[i] = (upmem_count){line.line, "", program->code.issued[i], program->code.stalled[i]};
        snprintf(out[i].file, sizeof out[i].file, "%s", line.file ? line.file : "");
    }
}

static void launch(uint64_t function, const char *name, const xtc_launch *request)
{
    const uint64_t *arguments = request->arguments;
    (void)name;
    select_dpus();
    switch ((enum upmem_operation)function) {
    case UPMEM_ASSIGN: assign(arguments[0]); break;
    case UPMEM_BOOT:
        for (uint32_t i = 0; i < chosen_count; i++)
            boot_dpu(chosen[i]);
        break;
    case UPMEM_RUN: run(); break;
    case UPMEM_TAKE_LOG: take_log((uint32_t)arguments[0]); break;
    case UPMEM_PROFILE: take_profile(arguments[0]); break;
    }
}

static void make_dpus(void)
{
    dpus = calloc(block->dpus, sizeof *dpus);
    chosen = calloc(block->dpus, sizeof *chosen);
    if (!dpus || !chosen)
        sim_give_up("no memory for the DPUs");
    for (uint32_t i = 0; i < block->dpus; i++) {
        dpus[i].wram = (uint8_t *)(uintptr_t)(UPMEM_MEMORY_ADDRESS + i * UPMEM_STRIDE);
        dpus[i].mram = dpus[i].wram + DPU_WRAM_ROOM;
        dpus[i].profile = &block->profile;
        dpus[i].rules = &block->rules;
    }
}

int main(void)
{
    static const sim_device_ops ops = {.launch = launch, .loader = &upmem_loader, .where = where};
    sim_device_attach(&ops);
    block = sim_device_block();
    make_dpus();
    sim_device_serve();
}
