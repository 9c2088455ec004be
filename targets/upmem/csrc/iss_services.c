// SPDX-License-Identifier: Apache-2.0
// The services for programs: transfers, synchronization, heap, counters, text.
#include <string.h>

#include "xtc_services.h"
#include "iss.h"
#include "timing.h"

static dpu_tasklet *mine(dpu *dpu)
{
    return &dpu->tasklet[dpu->here];
}

static void wait_in(dpu *dpu, enum xtc_service service, uint32_t waits_for)
{
    mine(dpu)->state = DPU_WAITS;
    mine(dpu)->waits_in = (uint8_t)service;
    mine(dpu)->waits_for = waits_for;
    mine(dpu)->ready = dpu->now;
}

// The tasklet that has waited longest.
static uint32_t first_in(const dpu *dpu, enum xtc_service service, uint32_t waits_for)
{
    uint32_t first = DPU_MAX_TASKLETS;
    for (uint32_t i = 0; i < dpu->program->tasklets; i++) {
        const dpu_tasklet *tasklet = &dpu->tasklet[i];
        if (tasklet->state == DPU_WAITS && tasklet->waits_in == service &&
            tasklet->waits_for == waits_for &&
            (first == DPU_MAX_TASKLETS || tasklet->ready < dpu->tasklet[first].ready))
            first = i;
    }
    return first;
}

static uint64_t after(const dpu *dpu, double slots)
{
    return dpu->now + (uint64_t)(cost_PIPELINE * slots);
}

static uint8_t *structure(dpu *dpu, uint32_t address)
{
    if (address > dpu->profile->wram_bytes - 4) {
        dpu_raise(dpu, DPU_MEMORY_FAULT, address);
        return NULL;
    }
    return dpu->wram + address;
}

// Bytes of barrier_t: the first waiting tasklet, the number of missing tasklets, the total number.
static uint32_t barrier(dpu *dpu, uint32_t address)
{
    uint8_t *bytes = structure(dpu, address);
    if (!bytes)
        return 0;
    if (--bytes[1]) {
        wait_in(dpu, XTC_BARRIER, address);
    } else {
        bytes[1] = bytes[2];
        for (uint32_t i; (i = first_in(dpu, XTC_BARRIER, address)) < DPU_MAX_TASKLETS;)
            dpu_wake(dpu, i, after(dpu, 4));
    }
    return (uint32_t)cost_BARRIER;
}

static bool is_atomic(dpu *dpu, uint32_t address)
{
    // Programs keep addresses of atomic bits in single bytes: only these bytes count.
    if (address >= DPU_MAX_ATOMICS && address - DPU_ATOMIC_BASE >= DPU_MAX_ATOMICS) {
        dpu_raise(dpu, DPU_BAD_ATOMIC, address);
        return false;
    }
    return true;
}

static uint32_t acquire(dpu *dpu, uint32_t address, bool again)
{
    uint8_t *bit = &dpu->atomics[address & (DPU_MAX_ATOMICS - 1)];
    uint32_t before = is_atomic(dpu, address) ? *bit : 0;
    *bit = 1;
    dpu->again = before && again;
    return before;
}

// Each of the two tasklets waits for the other.
static uint32_t notify(dpu *dpu)
{
    uint32_t waiter = first_in(dpu, XTC_WAIT_FOR, dpu->here);
    if (waiter < DPU_MAX_TASKLETS)
        dpu_wake(dpu, waiter, after(dpu, cost_HANDSHAKE) + 4);
    else
        wait_in(dpu, XTC_NOTIFY, 0);
    return (uint32_t)cost_HANDSHAKE;
}

static uint32_t wait_for(dpu *dpu, uint32_t notifier)
{
    if (notifier >= dpu->program->tasklets) {
        dpu_raise(dpu, DPU_BAD_TASKLET, notifier);
        return 0;
    }
    const dpu_tasklet *other = &dpu->tasklet[notifier];
    if (other->state == DPU_WAITS && other->waits_in == XTC_NOTIFY)
        dpu_wake(dpu, notifier, after(dpu, cost_HANDSHAKE) - 4);
    else
        wait_in(dpu, XTC_WAIT_FOR, notifier);
    return (uint32_t)cost_HANDSHAKE;
}

// Bytes of sem_t: the first waiting tasklet, the count.
static uint32_t semaphore(dpu *dpu, uint32_t address, bool takes)
{
    uint8_t *bytes = structure(dpu, address);
    if (!bytes)
        return 0;
    int8_t *count = (int8_t *)bytes + 1;
    *count = (int8_t)(*count + (takes ? -1 : 1));
    if (takes && *count < 0) {
        wait_in(dpu, XTC_SEM_TAKE, address);
    } else if (!takes && *count <= 0) {
        uint32_t waiter = first_in(dpu, XTC_SEM_TAKE, address);
        if (waiter < DPU_MAX_TASKLETS)
            dpu_wake(dpu, waiter, after(dpu, 4));
    }
    return (uint32_t)cost_SEMAPHORE;
}

static uint32_t heap_alloc(dpu *dpu, uint32_t nbytes)
{
    uint32_t at = (dpu->heap + 7) & ~7u;
    if (nbytes > dpu->profile->wram_bytes - at) {
        dpu_raise(dpu, DPU_HEAP_FULL, at);
        return 0;
    }
    dpu->heap = at + nbytes;
    return at;
}

static uint32_t perf_value(const dpu *dpu)
{
    uint64_t value = dpu->perf_mode == 2   ? dpu->counts.instructions
                     : dpu->perf_mode == 1 ? dpu->now
                                           : dpu->perf_start;
    return (uint32_t)((value - dpu->perf_start) >> 4);
}

static uint32_t perf_config(dpu *dpu, uint32_t mode, bool restart)
{
    uint32_t value = perf_value(dpu);
    bool changes = mode != 0 && mode != dpu->perf_mode;
    if (changes)
        dpu->perf_mode = mode;
    if (restart || changes)
        dpu->perf_start = dpu->perf_mode == 2 ? dpu->counts.instructions : dpu->now;
    return value;
}

static void end(dpu *dpu)
{
    mine(dpu)->state = DPU_ENDED;
    dpu->alive--;
}

static uint32_t stack_left(const dpu *dpu)
{
    return dpu->tasklet[dpu->here].x[2] - dpu->program->stack[dpu->here];
}

uint32_t dpu_service(dpu *dpu, const dpu_instruction *instruction)
{
    uint32_t *x = mine(dpu)->x, *result = &x[instruction->rd];
    uint32_t a = x[instruction->rs1], b = x[instruction->rs2], c = x[instruction->rs3];
    enum xtc_service service = (enum xtc_service)instruction->imm;
    dpu->again = false;
    // A trylock changes only its bit.
    dpu->changes += service < XTC_ACQUIRE || service > XTC_RELEASE;
    switch (service) {
    case XTC_DMA_READ: dpu_dma(dpu, false, a, b, c); return (uint32_t)cost_DMA_SETUP;
    case XTC_DMA_WRITE: dpu_dma(dpu, true, a, b, c); return (uint32_t)cost_DMA_SETUP;
    case XTC_BARRIER: return barrier(dpu, a);
    case XTC_ACQUIRE: *result = acquire(dpu, a, false); return 0;
    case XTC_LOCK: acquire(dpu, a, true); return 0;
    case XTC_RELEASE:
        if (is_atomic(dpu, a))
            dpu->atomics[a & (DPU_MAX_ATOMICS - 1)] = 0;
        return 0;
    case XTC_NOTIFY: return notify(dpu);
    case XTC_WAIT_FOR: *result = 0; return wait_for(dpu, a);
    case XTC_SEM_TAKE: return semaphore(dpu, a, true);
    case XTC_SEM_GIVE: return semaphore(dpu, a, false);
    case XTC_HEAP_ALLOC: *result = heap_alloc(dpu, a); return (uint32_t)cost_HEAP;
    case XTC_HEAP_RESET: *result = dpu->heap = dpu->program->heap; return (uint32_t)cost_HEAP;
    case XTC_PERF_CONFIG: *result = perf_config(dpu, a, b); return 0;
    case XTC_PERF_GET: *result = perf_value(dpu); return 0;
    case XTC_PRINT: {
        size_t before = dpu->log_used;
        *result = dpu_print(dpu, a, b);
        return (uint32_t)(cost_PRINT + cost_PRINT_BYTE * (double)(dpu->log_used - before));
    }
    case XTC_FAULT: dpu_raise(dpu, (enum dpu_fault)a, 0); return 0;
    case XTC_END: end(dpu); return 0;
    case XTC_STOP: wait_in(dpu, XTC_STOP, dpu->here); return 0;
    case XTC_RESUME:
        if (a < dpu->program->tasklets && dpu->tasklet[a].state == DPU_WAITS &&
            dpu->tasklet[a].waits_in == XTC_STOP)
            dpu_wake(dpu, a, after(dpu, 1));
        return 0;
    case XTC_STACK_LEFT: *result = stack_left(dpu); return 0;
    default: dpu_raise(dpu, DPU_BAD_INSTRUCTION, mine(dpu)->pc); return 0;
    }
}
