// SPDX-License-Identifier: Apache-2.0
// Fibers: functions with separate stacks, of which a thread runs one at a time.
//
// A pool creates stacks of one size, each above an unmapped page, and reuses them; a stack takes
// two of the process's mappings (vm.max_map_count, by default 65530,
// limits them). A simulator that has a guarded range for a stack already, such as the end of a
// processor's own memory, gives that range instead, which takes none. A fiber and its pool belong to
// the thread that entered it first.
#ifndef SIM_FIBER_H
#define SIM_FIBER_H

#include <stddef.h>
#include <stdint.h>

typedef struct sim_stack sim_stack;

typedef struct {
    size_t stack_bytes; // of each stack, a multiple of the page size
    sim_stack *unused;
    uint32_t made; // stacks
} sim_stack_pool;

typedef struct {
    void *pointer;    // of its stack, while it does not run; NULL before it begins and after it ended
    sim_stack *stack; // from the pool, or NULL
} sim_fiber;

// Start on a stack of the pool, or resume, until it leaves. `function` never returns: it ends with
// sim_fiber_end. The simulator fails if there is no memory for a stack.
void sim_fiber_enter(sim_fiber *fiber, sim_stack_pool *pool, void (*function)(void));
// Prepare to begin on these bytes, the highest of which are used first.
void sim_fiber_begin(sim_fiber *fiber, void *stack, size_t nbytes, void (*function)(void));
// Back to where the fiber that runs was entered.
void sim_fiber_leave(sim_fiber *fiber);
// Leave the fiber that runs for another one of the same pool, at half the cost of leaving it and entering
// the other: who leaves that one, or where it ends, comes back to where the first was entered.
void sim_fiber_pass(sim_fiber *fiber, sim_fiber *next, sim_stack_pool *pool, void (*function)(void));
// Forget a fiber that does not run, wherever it is; a stack of the pool goes back there.
void sim_fiber_abandon(sim_fiber *fiber, sim_stack_pool *pool);
// End the fiber that runs and continue with another one of the same pool. If that has not begun, it gets the
// stack, and the call returns: the caller runs its function. Otherwise it continues where it left.
void sim_fiber_replace(sim_fiber *fiber, sim_fiber *next, sim_stack_pool *pool);
// Leave for good; a stack of the pool goes back there.
_Noreturn void sim_fiber_end(sim_fiber *fiber, sim_stack_pool *pool);

#endif
