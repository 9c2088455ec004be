// SPDX-License-Identifier: Apache-2.0
// The loop that issues instructions.
#include <string.h>

#include "iss_decode.h"
#include "iss.h"
#include "timing.h"

static uint32_t orc_b(uint32_t a)
{
    uint32_t result = 0;
    for (int i = 0; i < 32; i += 8)
        result |= (a >> i & 255) ? 255u << i : 0;
    return result;
}

#define SET(value) x[instruction->rd] = (value)
#define JUMP(to) next = (to)
#define SLOTS(count) tasklet->pending += (count)
#define STACK(value)                                                                               \
    SET(value);                                                                                    \
    if (x[2] < dpu->program->stack[dpu->here])                                                     \
    dpu_raise(dpu, DPU_STACK_OVERFLOW, x[2])
#define IS_NEAR(type)                                                                              \
    (at <= dpu->profile->wram_bytes - sizeof(type) && (at & (sizeof(type) - 1)) == 0)
#define LOAD(type)                                                                                 \
    uint32_t at = a + (uint32_t)imm;                                                               \
    type value;                                                                                    \
    if (IS_NEAR(type))                                                                             \
        memcpy(&value, dpu->wram + at, sizeof value);                                              \
    else                                                                                           \
        value = (type)dpu_far_load(dpu, at, sizeof value);                                         \
    SET((uint32_t)value)
#define STORE(type)                                                                                \
    uint32_t at = a + (uint32_t)imm;                                                               \
    type value = (type)b, before;                                                                  \
    if (IS_NEAR(type)) {                                                                           \
        memcpy(&before, dpu->wram + at, sizeof value);                                             \
        dpu->changes += before != value;                                                           \
        memcpy(dpu->wram + at, &value, sizeof value);                                              \
    } else {                                                                                       \
        dpu_far_store(dpu, at, sizeof value, value);                                               \
    }

// Executes one instruction of the tasklet, and those that are issued together with it.
static inline __attribute__((always_inline)) void issue(dpu *dpu, dpu_tasklet *tasklet)
{
    uint32_t *x = tasklet->x;
    const dpu_instruction *instruction;
    do {
        uint32_t pc = tasklet->pc, index = (pc - DPU_IRAM_BASE) / 4, next = pc + 4;
        if (index >= dpu->program->length || pc % 4) {
            dpu_raise(dpu, DPU_BAD_INSTRUCTION, pc);
            return;
        }
        instruction = &dpu->program->code[index];
        uint32_t a = x[instruction->rs1], b = x[instruction->rs2];
        int32_t imm = instruction->imm;
        switch ((enum dpu_op)instruction->op) {
#define OP(name, ...)                                                                              \
    case OP_##name: {                                                                              \
        __VA_ARGS__;                                                                               \
        break;                                                                                     \
    }
#include "iss_ops.def"
#undef OP
        case OPS:
            __builtin_unreachable();
        }
        x[0] = 0;
        tasklet->pc = next;
    } while (instruction->free && !tasklet->ready);
    if (instruction->two_sources && (dpu->conflicts += cost_CONFLICT) >= 1) {
        dpu->conflicts--;
        dpu->now++;
    }
}

// After an instruction: the tasklet returns to the ring, unless it sleeps, waits or has ended.
static inline void put_back(dpu *dpu, uint32_t number)
{
    dpu_tasklet *tasklet = &dpu->tasklet[number];
    tasklet->ready = dpu->now + (uint64_t)cost_PIPELINE;
    dpu->ring[(dpu->ring_head + dpu->ring_count++) & 31] = (uint8_t)number;
}

static void put_back_late(dpu *dpu, uint32_t number)
{
    uint64_t late = dpu_random(dpu) & 15;
    dpu_sleep(dpu, number, dpu->now + (uint64_t)cost_PIPELINE + (late == 15 ? 400 : late));
}

static inline void count_issue(dpu *dpu, dpu_tasklet *tasklet)
{
    tasklet->issued = (tasklet->pc - DPU_IRAM_BASE) / 4;
    if (dpu->program->issued && tasklet->issued < dpu->program->length)
        __atomic_fetch_add(&dpu->program->issued[tasklet->issued], 1, __ATOMIC_RELAXED);
}

static inline void step(dpu *dpu, uint32_t number)
{
    dpu_tasklet *tasklet = &dpu->tasklet[number];
    dpu->counts.instructions++;
    if (tasklet->pending) {
        tasklet->pending--;
    } else {
        dpu->here = number;
        tasklet->ready = 0;
        count_issue(dpu, tasklet);
        issue(dpu, tasklet);
        if (tasklet->state != DPU_RUNS || tasklet->ready)
            return;
    }
    if (dpu->rules->jitter)
        put_back_late(dpu, number);
    else
        put_back(dpu, number);
}

// Puts a tasklet that cannot issue in this run back to the front.
static void postpone(dpu *dpu, uint32_t number)
{
    dpu->ring_head--;
    dpu->ring_count++;
    dpu->ring[dpu->ring_head & 31] = (uint8_t)number;
}

// Every tasklet waits for another: the first one is reported.
static void raise_deadlock(dpu *dpu)
{
    for (dpu->here = 0; dpu->tasklet[dpu->here].state != DPU_WAITS;)
        dpu->here++;
    dpu_raise(dpu, DPU_DEADLOCK, 0);
}

void dpu_run(dpu *dpu, uint64_t until, uint64_t most)
{
    uint64_t last = dpu->counts.instructions + most;
    while (dpu->alive && !dpu->fault && dpu->counts.instructions != last) {
        uint64_t ready;
        uint32_t number = dpu_next(dpu, &ready);
        if (number == DPU_MAX_TASKLETS) {
            raise_deadlock(dpu);
            break;
        }
        uint64_t now = ready > dpu->now ? ready : dpu->now;
        if (now >= until) {
            postpone(dpu, number);
            break;
        }
        dpu->now = now;
        step(dpu, number);
        dpu->now++;
    }
    if (dpu->counts.instructions >= dpu->rules->limit && dpu->alive)
        dpu_raise(dpu, DPU_LIMIT, 0);
    dpu->counts.cycles = dpu->now;
}
