/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of device code to the simulator, one instruction each, with unused RISC-V opcodes. */
#ifndef XTC_SERVICES_H
#define XTC_SERVICES_H

#include <stdint.h>

enum xtc_service {
    XTC_DMA_READ, /* MRAM address, WRAM address, bytes */
    XTC_DMA_WRITE,
    XTC_BARRIER, /* barrier */
    XTC_ACQUIRE, /* address of an atomic bit; returns whether it was already taken */
    XTC_LOCK,    /* the same, retried until it is free */
    XTC_RELEASE,
    XTC_NOTIFY,
    XTC_WAIT_FOR, /* tasklet */
    XTC_SEM_TAKE, /* semaphore */
    XTC_SEM_GIVE,
    XTC_HEAP_ALLOC, /* bytes */
    XTC_HEAP_RESET,
    XTC_PERF_CONFIG, /* what to count, whether to restart */
    XTC_PERF_GET,
    XTC_PRINT, /* format, arguments */
    XTC_FAULT, /* kind */
    XTC_END,   /* the end of the tasklet */
    XTC_STOP,
    XTC_RESUME, /* tasklet */
    XTC_STACK_LEFT, /* returns the free bytes below the stack pointer */

    XTC_HELPERS = 32, /* arithmetic that the machine does in software; operands in a0.. */
    XTC_BYTES = 64    /* byte multiplications and other instructions of the machine */
};

/* Faults that the runtime raises. */
enum xtc_runtime_fault {
    XTC_FAULT_HEAP_FULL = 1,
    XTC_FAULT_DIVIDE_BY_ZERO = 2,
    XTC_FAULT_ASSERT = 3,
    XTC_FAULT_HALT = 4,
    XTC_FAULT_PRINT = 5
};

#define XTC_OPCODE(id) ((id) < 32 ? 0x0b : (id) < 64 ? 0x2b : 0x5b)

/* `.insn r4`: the number's low bits select the function. */
#define XTC_SERVICE(id, a, b, c)                                                                   \
    __extension__({                                                                                \
        uint32_t xtc_result;                                                                       \
        __asm__ volatile(".insn r4 %4, %5, %6, %0, %1, %2, %3"                                     \
                         : "=r"(xtc_result)                                                        \
                         : "r"((uint32_t)(a)), "r"((uint32_t)(b)), "r"((uint32_t)(c)),             \
                           "i"(XTC_OPCODE(id)), "i"((id)&7), "i"((id) >> 3 & 3)                    \
                         : "memory");                                                              \
        xtc_result;                                                                                \
    })

/* One instruction with two operands and no side effects. */
#define XTC_INSTRUCTION(id, a, b)                                                                  \
    __extension__({                                                                                \
        uint32_t xtc_result;                                                                       \
        __asm__(".insn r4 %3, %4, %5, %0, %1, %2, x0"                                              \
                : "=r"(xtc_result)                                                                 \
                : "r"((uint32_t)(a)), "r"((uint32_t)(b)), "i"(XTC_OPCODE(id)), "i"((id)&7),        \
                  "i"((id) >> 3 & 3));                                                             \
        xtc_result;                                                                                \
    })

#endif
