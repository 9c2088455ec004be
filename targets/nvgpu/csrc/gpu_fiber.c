// SPDX-License-Identifier: Apache-2.0
// A switch saves the registers that a call keeps on the stack that is left, and takes them from the
// stack that is entered.
#define _GNU_SOURCE
#include "gpu_fiber.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim_device.h"

#define STACK_BYTES (128 << 10)

struct gpu_stack {
    char *bytes;
    gpu_stack *next; // that is free
};

// Save this stack's pointer in `*from` and go on at `to`.
void gpu_fiber_switch(void **from, void *to);

#if defined(__x86_64__)
__asm__(".text\n"
        ".type gpu_fiber_switch, @function\n"
        "gpu_fiber_switch:\n"
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
        ".size gpu_fiber_switch, . - gpu_fiber_switch\n");
#define FRAME_WORDS 8 // six registers, the address to go to, and one for the ABI's alignment
#define FRAME_ENTRY 6
#elif defined(__aarch64__)
__asm__(".text\n"
        ".type gpu_fiber_switch, %function\n"
        "gpu_fiber_switch:\n"
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
        ".size gpu_fiber_switch, . - gpu_fiber_switch\n");
#define FRAME_WORDS 20
#define FRAME_ENTRY 11 // x30
#else
#error "fibers are written for x86-64 and AArch64"
#endif

static gpu_stack *unused;
static void *outside; // where fibers are entered

// The page below a stack is no memory: using up a stack is a fault.
static gpu_stack *new_stack(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    gpu_stack *stack = malloc(sizeof *stack);
    char *memory = mmap(NULL, STACK_BYTES + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!stack || memory == MAP_FAILED ||
        mprotect(memory + page, STACK_BYTES, PROT_READ | PROT_WRITE))
        sim_give_up("no memory for the threads' stacks");
    stack->bytes = memory + page;
    return stack;
}

static void begin(gpu_fiber *fiber, void (*function)(void))
{
    gpu_stack *stack = unused;
    if (stack)
        unused = stack->next;
    else
        stack = new_stack();
    void **frame = (void **)(stack->bytes + STACK_BYTES) - FRAME_WORDS;
    for (int word = 0; word < FRAME_WORDS; word++)
        frame[word] = NULL;
    frame[FRAME_ENTRY] = (void *)(uintptr_t)function;
    fiber->stack = stack;
    fiber->pointer = frame;
}

void gpu_fiber_enter(gpu_fiber *fiber, void (*function)(void))
{
    if (!fiber->stack)
        begin(fiber, function);
    gpu_fiber_switch(&outside, fiber->pointer);
}

void gpu_fiber_leave(gpu_fiber *fiber)
{
    gpu_fiber_switch(&fiber->pointer, outside);
}

void gpu_fiber_end(gpu_fiber *fiber)
{
    fiber->stack->next = unused; // nobody writes on it before this one has left
    unused = fiber->stack;
    fiber->stack = NULL;
    gpu_fiber_leave(fiber);
    abort();
}
