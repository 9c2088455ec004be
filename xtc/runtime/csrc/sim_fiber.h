// SPDX-License-Identifier: Apache-2.0
// Fibers: functions with separate stacks; a thread runs one at a time.
//
// A pool creates stacks of one size, each above an unmapped page, and reuses them. A stack needs
// two memory mappings of the process, which vm.max_map_count limits (by default to 65530). A
// simulator with a guarded range for a stack, such as the end of a processor's local memory, can
// use that range, which needs none. A fiber and its pool belong to the thread that first entered
// it.
#ifndef SIM_FIBER_H
#define SIM_FIBER_H

#include <stddef.h>
#include <stdint.h>

typedef struct sim_stack sim_stack;

typedef struct {
    size_t stack_bytes; // of each stack, a multiple of the page size
    sim_stack *unused;
    uint32_t made; // number of stacks created
} sim_stack_pool;

typedef struct {
    void *pointer;    // the stack pointer while suspended; NULL before the begin and after the end
    sim_stack *stack; // from the pool, or NULL
} sim_fiber;

// Start on a stack of the pool, or resume, until the fiber leaves. `function` never returns: it
// ends with sim_fiber_end. The simulator fails if there is no memory for a stack.
void sim_fiber_enter(sim_fiber *fiber, sim_stack_pool *pool, void (*function)(void));
// Prepare to start on these bytes, as a stack that grows downwards.
void sim_fiber_begin(sim_fiber *fiber, void *stack, size_t nbytes, void (*function)(void));
// Return from the running fiber to the point where it was entered.
void sim_fiber_leave(sim_fiber *fiber);
// Switch from the running fiber to another of the same pool, at half the cost of leaving it and
// entering the other. When that leaves or ends, control returns to where the first was entered.
void sim_fiber_pass(sim_fiber *fiber, sim_fiber *next, sim_stack_pool *pool, void (*function)(void));
// Discard a suspended fiber; return its stack to the pool.
void sim_fiber_abandon(sim_fiber *fiber, sim_stack_pool *pool);
// End the running fiber and continue with another of the same pool. If that has not started, it takes
// over the stack, and the call returns: the caller runs its function. Otherwise it resumes.
void sim_fiber_replace(sim_fiber *fiber, sim_fiber *next, sim_stack_pool *pool);
// End the running fiber; return its stack to the pool.
_Noreturn void sim_fiber_end(sim_fiber *fiber, sim_stack_pool *pool);

#endif
