// SPDX-License-Identifier: Apache-2.0
// Windows and stacks. Each PE has a slot: its fiber's stack, then its window of 64 KiB, of which 48
// KiB are mapped. The unmapped part also guards the next PE's stack, so a PE needs two mappings.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>

#include "sim_device.h"
#include "wse_sim.h"

#define STACK (32u << 10)
#define WINDOW (64u << 10)
#define SRAM (48u << 10)
#define SLOT (STACK + WINDOW)

static uint8_t *slots;
static uint32_t slot_count;

// An access outside the mapped memory by code: report the PE's address.
static void on_fault(int number, siginfo_t *information, void *context)
{
    uintptr_t address = (uintptr_t)information->si_addr - (uintptr_t)slots;
    (void)context;
    if (number == SIGSEGV && slots && address < (uintptr_t)slot_count * SLOT) {
        uint32_t offset = address % SLOT;
        if (offset >= STACK + SRAM && wse_here && wse_here->number == address / SLOT)
            sim_fault(offset - STACK, "the address is outside the 48 KiB of SRAM");
        sim_fault(0, "the call stack overflowed");
    }
    signal(number, SIG_DFL);
    raise(number);
}

void wse_memory_map(uint32_t count)
{
    uint64_t nbytes = (uint64_t)count * SLOT;
    slot_count = count;
    slots = mmap(NULL, nbytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (slots == MAP_FAILED)
        sim_give_up("no memory for the PEs");
    for (uint32_t number = 0; number < count; number++)
        if (mprotect(slots + (uint64_t)number * SLOT, STACK + SRAM, PROT_READ | PROT_WRITE))
            sim_give_up("no memory for the PEs");
    static struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
    action.sa_sigaction = on_fault;
    sigaction(SIGSEGV, &action, NULL);
}

uint8_t *wse_memory_window(uint32_t number)
{
    return slots + (uint64_t)number * SLOT + STACK;
}

char *wse_memory_stack(uint32_t number, uint64_t *nbytes)
{
    *nbytes = STACK;
    return (char *)slots + (uint64_t)number * SLOT;
}

// The stack of local variables whose address is taken, at the end of SRAM.
WSE_EXPORT uint32_t wse_push(wse_head *pe, uint32_t nbytes)
{
    if (pe->stack < pe->stack_limit + nbytes)
        sim_fault(0, "the stack of local variables runs into the data, which end at 0x%x",
                  pe->stack_limit);
    return pe->stack -= nbytes;
}

WSE_EXPORT void wse_pop(wse_head *pe, uint32_t nbytes)
{
    pe->stack += nbytes;
}
