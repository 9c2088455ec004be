// SPDX-License-Identifier: Apache-2.0
// Copying and filling memory, 16 bytes at a time.
  .section .text.memcpy,"ax",%progbits
  .p2align 2
  .globl memmove
  .type memmove,%function
memmove:
  sub x3, x0, x1
  cmp x3, x2
  b.hs memcpy
1:
  cbz x2, 2f
  sub x2, x2, #1
  ldrb w3, [x1, x2]
  strb w3, [x0, x2]
  b 1b
2:
  ret
  .globl memcpy
  .type memcpy,%function
memcpy:
  mov x3, x0
3:
  subs x2, x2, #16
  b.lo 4f
  ldp x4, x5, [x1], #16
  stp x4, x5, [x3], #16
  b 3b
4:
  adds x2, x2, #16
5:
  b.eq 6f
  ldrb w4, [x1], #1
  strb w4, [x3], #1
  subs x2, x2, #1
  b 5b
6:
  ret
  .size memcpy, . - memcpy

  .section .text.memset,"ax",%progbits
  .p2align 2
  .globl memset
  .type memset,%function
memset:
  mov x3, x0
  and x1, x1, #255
  mov x4, #0x0101010101010101
  mul x1, x1, x4
7:
  subs x2, x2, #16
  b.lo 8f
  stp x1, x1, [x3], #16
  b 7b
8:
  adds x2, x2, #16
9:
  b.eq 10f
  strb w1, [x3], #1
  subs x2, x2, #1
  b 9b
10:
  ret
  .size memset, . - memset
