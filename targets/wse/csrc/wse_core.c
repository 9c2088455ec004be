// SPDX-License-Identifier: Apache-2.0
// Cores: tasks that run to completion, and concurrent operations.
#include <stdlib.h>
#include <string.h>

#include "sim_device.h"
#include "sim_order.h"
#include "wse_sim.h"

#define TASK_CYCLES 4 // from one task to the next (assumed)

static void body(void)
{
    wse_pe *pe = wse_here;
    pe->entry(&pe->head, pe->words);
    sim_fiber_end(&pe->fiber, NULL);
}

static void ended(wse_pe *pe)
{
    pe->running = WSE_NONE;
    pe->head.clock += TASK_CYCLES;
    if (pe->head.clock > wse.now) {
        pe->state = WSE_SLEEPING;
        wse_core_at(pe, pe->head.clock);
    } else {
        pe->state = WSE_IDLE;
    }
}

static void resume(wse_pe *pe)
{
    uint64_t nbytes, begin = wse.now;
    uint32_t task = pe->running;
    wse_here = pe;
    pe->state = WSE_IDLE;
    if (!pe->fiber.pointer) {
        char *stack = wse_memory_stack(pe->number, &nbytes);
        sim_fiber_begin(&pe->fiber, stack, nbytes, body);
    }
    sim_fiber_enter(&pe->fiber, NULL, body);
    wse_here = NULL;
    wse_trace_task(pe, task == WSE_TASKS ? "call" : pe->class->tasks[task].name, begin,
                   pe->head.clock);
    if (!pe->fiber.pointer)
        ended(pe);
}

void wse_sync(wse_pe *pe)
{
    if (pe->head.clock <= wse.now) {
        pe->head.clock = wse.now;
        return;
    }
    pe->state = WSE_SLEEPING;
    wse_core_at(pe, pe->head.clock);
    sim_fiber_leave(&pe->fiber);
}

void wse_wait(wse_pe *pe)
{
    pe->state = WSE_WAITING;
    sim_fiber_leave(&pe->fiber);
    pe->head.clock = wse.now;
}

static void begin(wse_pe *pe, uint32_t task, uint32_t entry)
{
    pe->running = task;
    pe->entry = wse.entries[entry];
    pe->head.clock = wse.now;
    pe->head.limit = wse.now + wse_shared->settings.cycle_limit;
    wse_shared->counters[WSE_TASKS_RUN]++;
    resume(pe);
}

const wse_operation_state *wse_reader(const wse_pe *pe, uint32_t input)
{
    for (uint32_t i = 0; i <= WSE_QUEUES + 1; i++) {
        const wse_operation_state *operation = i > WSE_QUEUES ? &pe->main : &pe->threads[i];
        if (!operation->busy)
            continue;
        for (uint32_t source = 0; source < operation->sources; source++)
            if (operation->from[source].kind == WSE_S_IN && operation->from[source].queue == input)
                return operation;
    }
    return NULL;
}

// Whether control wavelets on this input end an operation, and so call no task.
static bool ends_by_control(const wse_pe *pe, uint32_t input)
{
    const uint32_t any = WSE_CONTROL_ENDS | WSE_CONTROL_ACTIVATES | WSE_CONTROL_UNBLOCKS;
    const wse_operation_state *reader = wse_reader(pe, input);
    return reader && (reader->operation == WSE_DFILT || reader->options.flags & any);
}

static wse_wavelet *front_of(wse_pe *pe, uint32_t input)
{
    wse_queue *queue = pe->in[input];
    if (!queue || !queue->count || wse_queue_front(queue)->ready > wse.now)
        return NULL;
    return wse_queue_front(queue);
}

#define ENTRY_NONE 31u
static uint32_t control_entry(uint32_t data)
{
    return data >> 16 & 0x3f;
}

typedef struct {
    uint32_t task, input; // input: the queue whose wavelet it takes, or WSE_NONE
} choice;

static bool takes_control(wse_pe *pe, uint32_t input, uint32_t data, choice *found)
{
    uint32_t entry = control_entry(data);
    if (entry == ENTRY_NONE)
        return false;
    if (pe->class->own_tables)
        entry += pe->class->table[input % WSE_QUEUES];
    uint64_t bound = pe->class->own_tables ? pe->class->controls : pe->class->bound;
    if (entry >= WSE_TASKS || !(bound >> entry & 1)) {
        wse_about = pe;
        sim_fault(0, "a control wavelet calls task %u, to which no task is bound", entry);
    }
    *found = (choice){pe->class->own_tables ? WSE_CONTROLS + entry : entry, input};
    return pe->class->own_tables || !(pe->blocked >> entry & 1);
}

// When a data task has started as often as its limit allows, the other task takes the wavelet.
static uint32_t rotates(wse_pe *pe, choice chosen)
{
    if (chosen.input >= WSE_QUEUES || pe->class->rotation[chosen.input] == WSE_NONE ||
        chosen.task != chosen.input)
        return chosen.task;
    if (pe->rotated[chosen.input]++ < pe->class->rotation[chosen.input])
        return chosen.task;
    pe->rotated[chosen.input] = 0;
    return pe->class->own_tables ? WSE_CONTROLS + pe->class->table[chosen.input] : 0;
}

static uint32_t choices(wse_pe *pe, choice *found)
{
    uint32_t count = 0;
    uint64_t ready = pe->active & ~pe->blocked & pe->class->bound;
    for (; ready; ready &= ready - 1)
        found[count++] = (choice){(uint32_t)__builtin_ctzll(ready), WSE_NONE};
    uint32_t inputs = wse.by_queue ? wse.input_count : WSE_COLORS;
    for (uint32_t input = 0; input < inputs; input++) {
        wse_wavelet *front = front_of(pe, input);
        if (!front)
            continue;
        if (front->control && ends_by_control(pe, input))
            continue;
        if (front->control) {
            if (control_entry(front->data) == ENTRY_NONE) { // no task is called
                wse_input_take(pe, input);
                wse_core_at(pe, wse.now + 1);
            } else if (!(pe->quiet >> input & 1) &&
                       takes_control(pe, input, front->data, &found[count])) {
                count++;
            }
        } else if (pe->class->data_tasks >> input & 1 && !(pe->quiet >> input & 1) &&
                   !wse_reader(pe, input)) {
            found[count++] = (choice){input, input};
        }
    }
    return count;
}

static bool start_called(wse_pe *pe)
{
    if (!pe->called)
        return false;
    pe->called = false;
    memcpy(pe->words, pe->call_words, sizeof pe->words);
    begin(pe, WSE_TASKS, pe->call_entry);
    return true;
}

// Output queues are numbered 0 to 7, then input queues.
static bool is_empty(wse_pe *pe, uint32_t queue)
{
    if (queue < WSE_QUEUES)
        return !wse_output(pe, queue)->count;
    const wse_queue *input = pe->in[queue - WSE_QUEUES];
    return !input || !input->count;
}

static bool start_handler(wse_pe *pe)
{
    if (pe->blocked >> WSE_TEARDOWN_TASK & 1)
        return false;
    for (uint32_t bits = pe->teardowns; bits; bits &= bits - 1) {
        uint32_t color = (uint32_t)__builtin_ctz(bits);
        pe->teardowns &= ~(1u << color);
        if (pe->class->teardown[color] != WSE_NONE) {
            begin(pe, WSE_TEARDOWN_TASK, pe->class->teardown[color]);
            return true;
        }
    }
    for (uint32_t bits = pe->flushed; bits; bits &= bits - 1) {
        uint32_t queue = (uint32_t)__builtin_ctz(bits);
        if (pe->class->empty[queue] != WSE_NONE && is_empty(pe, queue)) {
            begin(pe, WSE_TEARDOWN_TASK, pe->class->empty[queue]);
            return true;
        }
    }
    return false;
}

// Only urgent tasks, if there are any.
static uint32_t urgent(const wse_pe *pe, choice *found, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (found[i].task < WSE_TASKS && pe->urgent >> found[i].task & 1)
            found[kept++] = found[i];
    return kept ? kept : count;
}

static uint32_t turns_until(const wse_pe *pe, uint32_t task)
{
    return (task + WSE_ALL_TASKS - pe->next_task) % WSE_ALL_TASKS;
}

// Ready tasks run round-robin by their ids, so that tasks that poll by activating themselves let
// others run.
static choice next_of(wse_pe *pe, const choice *found, uint32_t count)
{
    uint32_t order[WSE_TASKS + WSE_COLORS], first = 0;
    for (uint32_t i = 1; i < count; i++)
        if (turns_until(pe, found[i].task) < turns_until(pe, found[first].task))
            first = i;
    sim_order(order, count);
    choice chosen = found[(first + order[0]) % count];
    pe->next_task = chosen.task + 1;
    return chosen;
}

static bool start_task(wse_pe *pe)
{
    choice found[WSE_TASKS + WSE_COLORS];
    if (start_called(pe) || start_handler(pe))
        return true;
    uint32_t count = choices(pe, found);
    if (!count)
        return false;
    count = urgent(pe, found, count);
    choice chosen = next_of(pe, found, count);
    memset(pe->words, 0, sizeof pe->words);
    if (chosen.input != WSE_NONE && !wse_queue_front(pe->in[chosen.input])->control)
        chosen.task = rotates(pe, chosen);
    if (chosen.input != WSE_NONE)
        pe->words[0] = wse_input_take(pe, chosen.input).data;
    else
        pe->active &= ~(1ull << chosen.task);
    begin(pe, chosen.task, pe->class->tasks[chosen.task].entry);
    return true;
}

static void step_threads(wse_pe *pe)
{
    uint32_t count = WSE_QUEUES + 1;
    for (uint32_t i = 0; i < count; i++) {
        wse_operation_state *thread = &pe->threads[(i + pe->turn) % count];
        uint32_t number = (i + pe->turn) % count;
        if (thread->busy && thread->start <= wse.now && !(pe->blocked_threads >> number & 1))
            wse_operation_advance(pe, thread);
    }
    pe->turn++;
}

void wse_core_step(wse_pe *pe)
{
    wse_about = pe;
    if (pe->feeds)
        wse_host_feed(pe);
    step_threads(pe);
    if (pe->state == WSE_WAITING && pe->main.busy && pe->main.start <= wse.now)
        wse_operation_advance(pe, &pe->main);
    if (pe->state == WSE_WAITING && !pe->main.busy)
        resume(pe);
    else if (pe->state == WSE_SLEEPING && pe->head.clock <= wse.now) {
        if (pe->fiber.pointer)
            resume(pe);
        else
            pe->state = WSE_IDLE;
    }
    while (pe->state == WSE_IDLE && start_task(pe))
        wse_about = pe;
    wse_about = NULL;
}

void wse_task_activate(wse_pe *pe, uint32_t id)
{
    if (id >= WSE_TASKS || !(pe->class->bound >> id & 1))
        sim_fault(0, "task id %u is activated, and no task is bound to it", id);
    pe->active |= 1ull << id;
    wse_core_at(pe, wse.now + 1);
}

// Numbers from WSE_TASKS on are microthreads.
void wse_task_unblock(wse_pe *pe, uint32_t id)
{
    if (id < WSE_TASKS) {
        pe->blocked &= ~(1ull << id);
        pe->quiet &= ~(1ull << id);
    } else {
        pe->blocked_threads &= ~(1u << (id - WSE_TASKS) % 32);
    }
    wse_core_at(pe, wse.now + 1);
}

WSE_EXPORT void wse_activate(wse_head *pe, uint16_t id)
{
    wse_task_activate((wse_pe *)pe, id);
}

WSE_EXPORT void wse_block(wse_head *head, uint16_t id)
{
    wse_pe *pe = (wse_pe *)head;
    if (id >= WSE_TASKS) {
        wse_sync(pe);
        pe->blocked_threads |= 1u << (id - WSE_TASKS) % 32;
        return;
    }
    pe->blocked |= 1ull << id;
    pe->quiet |= 1ull << id;
}

WSE_EXPORT void wse_unblock(wse_head *head, uint16_t id)
{
    wse_pe *pe = (wse_pe *)head;
    if (id >= WSE_TASKS)
        wse_sync(pe);
    wse_task_unblock(pe, id);
}

WSE_EXPORT void wse_overrun(wse_head *pe)
{
    (void)pe;
    sim_fault(0, "the task runs for more than %llu cycles",
              (unsigned long long)wse_shared->settings.cycle_limit);
}

WSE_EXPORT void wse_assertion(wse_head *pe, uint32_t line)
{
    (void)pe;
    sim_fault(0, "@assert fails in line %u", line);
}

#define DIVISOR(bits)                                                                              \
    WSE_EXPORT uint##bits##_t wse_divisor_##bits(wse_head *pe, uint##bits##_t divisor)            \
    {                                                                                              \
        (void)pe;                                                                                  \
        if (!divisor)                                                                              \
            sim_fault(0, "an integer is divided by zero");                                         \
        return divisor;                                                                            \
    }
DIVISOR(8)
DIVISOR(16)
DIVISOR(32)
DIVISOR(64)
