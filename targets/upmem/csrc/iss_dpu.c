// SPDX-License-Identifier: Apache-2.0
#include "iss.h"

#include <string.h>

const char *dpu_fault_name(enum dpu_fault fault)
{
    static const char *const names[] = {
        [DPU_NO_FAULT] = "no fault",
        [DPU_HEAP_FULL] = "the heap of WRAM is full: only mem_reset empties it",
        [DPU_DIVIDE_BY_ZERO] = "division by zero",
        [DPU_ASSERT] = "an assertion failed",
        [DPU_HALT] = "the program called halt or abort",
        [DPU_PRINT] = "printf was given a format that it does not know",
        [DPU_MEMORY_FAULT] = "memory fault: a load or store outside of WRAM",
        [DPU_DMA_FAULT] = "DMA fault: bytes outside of WRAM or MRAM",
        [DPU_DMA_SIZE] = "DMA fault: a transfer has 8 to 2048 bytes, a multiple of 8",
        [DPU_DMA_ALIGNMENT] = "DMA fault: an address that is not a multiple of 8",
        [DPU_UNALIGNED] = "memory fault: a load or store that is not aligned to its size",
        [DPU_BAD_INSTRUCTION] = "no instruction that the simulator knows",
        [DPU_STACK_OVERFLOW] = "stack overflow: the tasklet needs a larger STACK_SIZE_DEFAULT",
        [DPU_BAD_ATOMIC] = "an atomic bit that the machine does not have",
        [DPU_BAD_TASKLET] = "a tasklet that the program does not have",
        [DPU_LIMIT] = "the limit of instructions",
        [DPU_DEADLOCK] = "deadlock: every tasklet waits for another",
        [DPU_STUCK] = "an endless loop: nothing can happen that would end it",
    };
    return names[fault];
}

void dpu_raise(dpu *dpu, enum dpu_fault fault, uint32_t address)
{
    if (dpu->fault)
        return;
    dpu->fault = fault;
    dpu->fault_address = address;
    dpu->fault_tasklet = dpu->here;
    dpu->fault_pc = dpu->tasklet[dpu->here].pc;
    dpu->fault_caller = dpu->tasklet[dpu->here].x[1] - 4;
}

bool dpu_is_done(const dpu *dpu)
{
    return !dpu->alive || dpu->fault;
}

void dpu_boot(dpu *dpu)
{
    const dpu_program *program = dpu->program;
    memset(dpu->atomics, 0, sizeof dpu->atomics);
    memset(dpu->tasklet, 0, sizeof dpu->tasklet);
    memset(&dpu->counts, 0, sizeof dpu->counts);
    dpu->ring_head = dpu->ring_count = dpu->sleepers = 0;
    dpu->now = dpu->dma_free = dpu->perf_start = 0;
    dpu->dma_rest = dpu->conflicts = 0;
    dpu->perf_mode = 0;
    dpu->fault = DPU_NO_FAULT;
    dpu->heap = program->heap;
    dpu->random = dpu->rules->jitter;
    dpu->alive = program->tasklets;
    for (uint32_t i = 0; i < program->tasklets; i++) {
        dpu_tasklet *tasklet = &dpu->tasklet[i];
        tasklet->state = DPU_RUNS;
        tasklet->pc = DPU_IRAM_BASE;
        tasklet->x[2] = program->stack[i + 1];
        tasklet->x[4] = i;
        dpu_sleep(dpu, i, i);
    }
}
