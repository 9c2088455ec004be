/* SPDX-License-Identifier: Apache-2.0 */
/* The start code of tasklets, and the arithmetic routines. */
#include <xtc_services.h>

extern int main(void);

_Static_assert(XTC_END == 16, "the number below");

__attribute__((naked, section(".text.start"), used)) void _start(void)
{
    __asm__("call main\n"
            ".insn r4 0x0b, 0, 2, x0, x0, x0, x0\n");
}

/* One instruction with the modelled time of the machine's routine, then the return. Operands are in
 * a0, a1 and, for 64 bits, also a2 and a3; the result is in a0 and a1. */
#define ROUTINE(number, name)                                                                      \
    __asm__(".section .text." #name ",\"ax\",@progbits\n"                                          \
            ".globl " #name "\n"                                                                   \
            ".type " #name ",@function\n" #name ":\n"                                              \
            ".word 0x00b5052b + ((" #number " & 7) << 12) + ((" #number " >> 3 & 3) << 25)"        \
            " + ((" #number " >> 5) << 27)\n"                                                      \
            "ret\n"                                                                                \
            ".size " #name ", . - " #name "\n"                                                     \
            ".text\n");
#define HELPER(number, name, cost) ROUTINE(number, __##name)
#include <xtc_helpers.def>

__asm__(".globl sqrtf\n.set sqrtf, __sqrtf\n.globl sqrt\n.set sqrt, __sqrt\n");
