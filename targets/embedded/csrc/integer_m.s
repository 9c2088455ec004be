// SPDX-License-Identifier: Apache-2.0
// 64-bit multiplications and shifts for cores without instructions for them (IHI 0043, 4.2).
  .syntax unified
  .thumb

  .macro name symbol
  .globl \symbol
  .thumb_func
  .type \symbol,%function
\symbol:
  .endm

// The product of r0 and r1 as r1:r0, from products of halves.
  .section .text.xtc_umull,"ax",%progbits
  .p2align 2
  name xtc_umull
  push {r4, r5, r6, lr}
  uxth r2, r0
  uxth r3, r1
  lsrs r0, r0, #16
  lsrs r1, r1, #16
  mov r4, r2
  muls r4, r3
  muls r2, r1
  muls r3, r0
  muls r1, r0
  lsls r5, r2, #16
  lsrs r2, r2, #16
  lsls r6, r3, #16
  lsrs r3, r3, #16
  adds r0, r4, r5
  adcs r1, r2
  adds r0, r0, r6
  adcs r1, r3
  pop {r4, r5, r6, pc}
  .size xtc_umull, . - xtc_umull

// The low 64 bits of r1:r0 times r3:r2.
  .section .text.__aeabi_lmul,"ax",%progbits
  .p2align 2
  name __aeabi_lmul
  push {r4, lr}
  muls r1, r2
  muls r3, r0
  adds r4, r1, r3
  mov r1, r2
  bl xtc_umull
  adds r1, r1, r4
  pop {r4, pc}
  .size __aeabi_lmul, . - __aeabi_lmul

  .section .text.__aeabi_llsl,"ax",%progbits
  .p2align 2
  name __aeabi_llsl
  lsls r1, r2
  movs r3, #32
  subs r3, r2
  bmi 1f
  push {r4}
  mov r4, r0
  lsrs r4, r3
  orrs r1, r4
  pop {r4}
  lsls r0, r2
  bx lr
1:
  mov r1, r0
  subs r2, #32
  lsls r1, r2
  movs r0, #0
  bx lr
  .size __aeabi_llsl, . - __aeabi_llsl

  .section .text.__aeabi_llsr,"ax",%progbits
  .p2align 2
  name __aeabi_llsr
  lsrs r0, r2
  movs r3, #32
  subs r3, r2
  bmi 2f
  push {r4}
  mov r4, r1
  lsls r4, r3
  orrs r0, r4
  pop {r4}
  lsrs r1, r2
  bx lr
2:
  mov r0, r1
  subs r2, #32
  lsrs r0, r2
  movs r1, #0
  bx lr
  .size __aeabi_llsr, . - __aeabi_llsr

  .section .text.__aeabi_lasr,"ax",%progbits
  .p2align 2
  name __aeabi_lasr
  lsrs r0, r2
  movs r3, #32
  subs r3, r2
  bmi 3f
  push {r4}
  mov r4, r1
  lsls r4, r3
  orrs r0, r4
  pop {r4}
  asrs r1, r2
  bx lr
3:
  mov r0, r1
  subs r2, #32
  asrs r0, r2
  asrs r1, r1, #31
  bx lr
  .size __aeabi_lasr, . - __aeabi_lasr

// Leading zeros of r0, by bisection.
  .section .text.__clzsi2,"ax",%progbits
  .p2align 2
  name __clzsi2
  movs r1, #32
  lsrs r2, r0, #16
  beq 4f
  subs r1, #16
  mov r0, r2
4:
  lsrs r2, r0, #8
  beq 5f
  subs r1, #8
  mov r0, r2
5:
  lsrs r2, r0, #4
  beq 6f
  subs r1, #4
  mov r0, r2
6:
  lsrs r2, r0, #2
  beq 7f
  subs r1, #2
  mov r0, r2
7:
  lsrs r2, r0, #1
  beq 8f
  subs r1, #2
  mov r0, r1
  bx lr
8:
  subs r0, r1, r0
  bx lr
  .size __clzsi2, . - __clzsi2
