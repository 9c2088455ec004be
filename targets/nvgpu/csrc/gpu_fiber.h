// SPDX-License-Identifier: Apache-2.0
// Fibers: functions with stacks of their own, of which one at a time runs.
#ifndef GPU_FIBER_H
#define GPU_FIBER_H

typedef struct gpu_stack gpu_stack;

typedef struct {
    void *pointer;    // of its stack, while it does not run
    gpu_stack *stack; // NULL before it begins and after it ended
} gpu_fiber;

// Begin, or go on, until it leaves. `function` never returns: it ends with gpu_fiber_end.
void gpu_fiber_enter(gpu_fiber *fiber, void (*function)(void));
// Back to where the fiber that runs was entered.
void gpu_fiber_leave(gpu_fiber *fiber);
_Noreturn void gpu_fiber_end(gpu_fiber *fiber);

#endif
