// SPDX-License-Identifier: Apache-2.0
// A switch saves the callee-saved registers on the old stack and restores them from the new stack.
#define _GNU_SOURCE
#include "sim_fiber.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim_device.h"

struct sim_stack {
    char *bytes;
    size_t nbytes; // less than the size of the pool's stacks
    sim_stack *next; // the next free stack
};

// Save this stack's pointer in `*from` and switch to `to`.
void sim_fiber_switch(void **from, void *to);

#if defined(__x86_64__)
__asm__(".text\n"
        ".type sim_fiber_switch, @function\n"
        "sim_fiber_switch:\n"
        "  pushq %rbp\n"
        "  pushq %rbx\n"
        "  pushq %r12\n"
        "  pushq %r13\n"
        "  pushq %r14\n"
        "  pushq %r15\n"
        "  movq %rsp, (%rdi)\n"
        "  movq %rsi, %rsp\n"
        "  popq %r15\n"
        "  popq %r14\n"
        "  popq %r13\n"
        "  popq %r12\n"
        "  popq %rbx\n"
        "  popq %rbp\n"
        "  ret\n"
        ".size sim_fiber_switch, . - sim_fiber_switch\n");
#define FRAME_WORDS 8 // six registers, the return address, and a word for the ABI's alignment
#define FRAME_ENTRY 6
#elif defined(__aarch64__)
__asm__(".text\n"
        ".type sim_fiber_switch, %function\n"
        "sim_fiber_switch:\n"
        "  sub sp, sp, #160\n"
        "  stp x19, x20, [sp]\n"
        "  stp x21, x22, [sp, #16]\n"
        "  stp x23, x24, [sp, #32]\n"
        "  stp x25, x26, [sp, #48]\n"
        "  stp x27, x28, [sp, #64]\n"
        "  stp x29, x30, [sp, #80]\n"
        "  stp d8, d9, [sp, #96]\n"
        "  stp d10, d11, [sp, #112]\n"
        "  stp d12, d13, [sp, #128]\n"
        "  stp d14, d15, [sp, #144]\n"
        "  mov x9, sp\n"
        "  str x9, [x0]\n"
        "  mov sp, x1\n"
        "  ldp x19, x20, [sp]\n"
        "  ldp x21, x22, [sp, #16]\n"
        "  ldp x23, x24, [sp, #32]\n"
        "  ldp x25, x26, [sp, #48]\n"
        "  ldp x27, x28, [sp, #64]\n"
        "  ldp x29, x30, [sp, #80]\n"
        "  ldp d8, d9, [sp, #96]\n"
        "  ldp d10, d11, [sp, #112]\n"
        "  ldp d12, d13, [sp, #128]\n"
        "  ldp d14, d15, [sp, #144]\n"
        "  add sp, sp, #160\n"
        "  ret\n"
        ".size sim_fiber_switch, . - sim_fiber_switch\n");
#define FRAME_WORDS 20
#define FRAME_ENTRY 11 // x30
#else
#error "fibers are written for x86-64 and AArch64"
#endif

static _Thread_local void *outside; // the stack pointer where fibers are entered

static _Noreturn void no_stack(int error)
{
    char reason[160];
    snprintf(reason, sizeof reason,
             "no memory for the stack of another fiber: %s (a stack needs two mappings, which "
             "vm.max_map_count limits)",
             strerror(error));
    sim_give_up(reason);
}

#define LINE 64    // bytes of a cache line
#define COLORS 64 // cache lines of a page
#define STEP 17    // cache lines between the ends of two stacks; coprime to COLORS

// Cache coloring: stacks end at different cache lines of their last page, as otherwise the tops of
// all stacks would compete for the same few sets of a cache.
static size_t left_free(uint32_t number)
{
    return (size_t)(number * STEP % COLORS) * LINE;
}

// The page below a stack is inaccessible, so that a stack overflow is a fault.
static sim_stack *new_stack(size_t nbytes, uint32_t number)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    sim_stack *stack = malloc(sizeof *stack);
    char *memory = mmap(NULL, nbytes + page, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (!stack || memory == MAP_FAILED || mprotect(memory + page, nbytes, PROT_READ | PROT_WRITE))
        no_stack(errno);
    stack->bytes = memory + page;
    stack->nbytes = nbytes - left_free(number);
    return stack;
}

void sim_fiber_begin(sim_fiber *fiber, void *stack, size_t nbytes, void (*function)(void))
{
    uintptr_t end = ((uintptr_t)stack + nbytes) / 16 * 16; // the alignment of both ABIs
    void **frame = (void **)end - FRAME_WORDS;
    for (int word = 0; word < FRAME_WORDS; word++)
        frame[word] = NULL;
    frame[FRAME_ENTRY] = (void *)(uintptr_t)function;
    fiber->pointer = frame;
}

static sim_stack *take(sim_stack_pool *pool)
{
    sim_stack *stack = pool->unused;
    if (!stack)
        return new_stack(pool->stack_bytes, pool->made++);
    pool->unused = stack->next;
    return stack;
}

static inline void *pointer_of(sim_fiber *fiber, sim_stack_pool *pool, void (*function)(void))
{
    if (!fiber->pointer) {
        fiber->stack = take(pool);
        sim_fiber_begin(fiber, fiber->stack->bytes, fiber->stack->nbytes, function);
    }
    return fiber->pointer;
}

void sim_fiber_enter(sim_fiber *fiber, sim_stack_pool *pool, void (*function)(void))
{
    sim_fiber_switch(&outside, pointer_of(fiber, pool, function));
}

// Returns to the code that called it if fibers run the same code, so that the return is predicted.
void sim_fiber_pass(sim_fiber *fiber, sim_fiber *next, sim_stack_pool *pool, void (*function)(void))
{
    sim_fiber_switch(&fiber->pointer, pointer_of(next, pool, function));
}

void sim_fiber_leave(sim_fiber *fiber)
{
    sim_fiber_switch(&fiber->pointer, outside);
}

void sim_fiber_abandon(sim_fiber *fiber, sim_stack_pool *pool)
{
    if (fiber->stack) {
        fiber->stack->next = pool->unused;
        pool->unused = fiber->stack;
    }
    *fiber = (sim_fiber){NULL, NULL};
}

static _Noreturn void end_for(sim_fiber *fiber, void *next, sim_stack_pool *pool)
{
    void *left;
    sim_fiber_abandon(fiber, pool); // this fiber leaves the stack before it can be reused
    sim_fiber_switch(&left, next);
    abort();
}

void sim_fiber_replace(sim_fiber *fiber, sim_fiber *next, sim_stack_pool *pool)
{
    if (next->pointer)
        end_for(fiber, next->pointer, pool);
    *next = *fiber;
    *fiber = (sim_fiber){NULL, NULL};
}

void sim_fiber_end(sim_fiber *fiber, sim_stack_pool *pool)
{
    end_for(fiber, outside, pool);
}
