// SPDX-License-Identifier: Apache-2.0
// Copying and filling memory, with the names of Arm's run-time ABI (IHI 0043, 4.3.4).
//
// Four words at a time if both sides have the same alignment. Only instructions of Armv6-M.
  .syntax unified
  .thumb

  .macro name symbol
  .globl \symbol
  .thumb_func
  .type \symbol,%function
\symbol:
  .endm

  .section .text.memcpy,"ax",%progbits
  .p2align 2
  name memmove
  name __aeabi_memmove
  name __aeabi_memmove4
  name __aeabi_memmove8
  cmp r0, r1
  bls forwards
  adds r3, r1, r2
  cmp r0, r3
  bhs forwards
  push {r4, lr}
1:
  subs r2, #1
  blo 2f
  ldrb r3, [r1, r2]
  strb r3, [r0, r2]
  b 1b
2:
  pop {r4, pc}
  .size memmove, . - memmove
  name memcpy
  name __aeabi_memcpy
  name __aeabi_memcpy4
  name __aeabi_memcpy8
forwards:
  push {r0, r4, r5, r6, r7, lr}
  mov r3, r0
  orrs r3, r1
  lsls r3, r3, #30
  bne 5f
3:
  subs r2, #16
  blo 4f
  ldmia r1!, {r4, r5, r6, r7}
  stmia r0!, {r4, r5, r6, r7}
  b 3b
4:
  adds r2, #16
6:
  subs r2, #4
  blo 7f
  ldmia r1!, {r4}
  stmia r0!, {r4}
  b 6b
7:
  adds r2, #4
5:
  subs r2, #1
  blo 8f
  ldrb r3, [r1]
  strb r3, [r0]
  adds r1, #1
  adds r0, #1
  b 5b
8:
  pop {r0, r4, r5, r6, r7, pc}
  .size memcpy, . - memcpy

  .section .text.memset,"ax",%progbits
  .p2align 2
  name __aeabi_memclr
  name __aeabi_memclr4
  name __aeabi_memclr8
  movs r2, #0
  name __aeabi_memset
  name __aeabi_memset4
  name __aeabi_memset8
  mov r3, r1
  mov r1, r2
  mov r2, r3
  .size __aeabi_memclr, . - __aeabi_memclr
  name memset
  push {r0, r4, r5, r6, r7, lr}
  uxtb r1, r1
  lsls r3, r1, #8
  orrs r1, r3
  lsls r3, r1, #16
  orrs r1, r3
9:
  lsls r3, r0, #30
  beq 10f
  subs r2, #1
  blo 13f
  strb r1, [r0]
  adds r0, #1
  b 9b
10:
  mov r4, r1
  mov r5, r1
  mov r6, r1
11:
  subs r2, #16
  blo 12f
  stmia r0!, {r1, r4, r5, r6}
  b 11b
12:
  adds r2, #16
14:
  subs r2, #1
  blo 13f
  strb r1, [r0]
  adds r0, #1
  b 14b
13:
  pop {r0, r4, r5, r6, r7, pc}
  .size memset, . - memset
