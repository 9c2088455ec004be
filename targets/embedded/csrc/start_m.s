// SPDX-License-Identifier: Apache-2.0
// Start-up of a Cortex-M: vectors, initialization of variables, then runs of the program on
// command.
//
// A command is the address of a counter, which is read before and after the call. XTC_FPU and
// XTC_DWT say whether the core has a floating-point unit and a cycle counter. Only
// instructions of Armv6-M. Registers: Armv7-M Architecture Reference Manual, B3.2.20 and C1.8.
  .syntax unified
  .section .vectors,"a",%progbits
  .globl xtc_vectors
  .p2align 2
xtc_vectors:
  .long xtc_stack_end
  .long xtc_reset
  .rept 14
  .long xtc_fault
  .endr

  .section .text.xtc_reset,"ax",%progbits
  .thumb
  .globl xtc_reset
  .p2align 2
  .thumb_func
  .type xtc_reset,%function
xtc_reset:
  .if XTC_FPU
  ldr r0, =0xE000ED88
  ldr r1, [r0]
  ldr r2, =0x00F00000
  orrs r1, r2
  str r1, [r0]
  dsb
  isb
  .endif
  .if XTC_DWT
  ldr r0, =0xE000EDFC
  ldr r1, [r0]
  ldr r2, =0x01000000
  orrs r1, r2
  str r1, [r0]
  ldr r0, =0xE0001000
  movs r1, #1
  str r1, [r0]
  .endif
  ldr r0, =xtc_data_begin
  ldr r1, =xtc_data_end
  ldr r2, =xtc_data_load
1:
  cmp r0, r1
  bhs 2f
  ldmia r2!, {r3}
  stmia r0!, {r3}
  b 1b
2:
  ldr r0, =xtc_zero_begin
  ldr r1, =xtc_zero_end
  movs r2, #0
3:
  cmp r0, r1
  bhs xtc_ready
  stmia r0!, {r2}
  b 3b

  .globl xtc_ready
  .thumb_func
  .type xtc_ready,%function
xtc_ready:
  ldr r4, =xtc_mailbox
  ldr r5, [r4]
  cmp r5, #0
  beq xtc_ready
  ldr r6, [r5]
  bl xtc_entry
  ldr r0, [r5]
  subs r0, r0, r6
  str r0, [r4, #8]
  movs r0, #0
  str r0, [r4]
  b xtc_ready
  .size xtc_reset, . - xtc_reset

  .globl xtc_fault
  .thumb_func
  .type xtc_fault,%function
xtc_fault:
  ldr r4, =xtc_mailbox
  mrs r0, ipsr
  str r0, [r4, #4]
  mov r0, sp
  ldr r0, [r0, #24]
  str r0, [r4, #12]
4:
  b 4b
  .ltorg
  .size xtc_fault, . - xtc_fault

  .section .bss.xtc_mailbox,"aw",%nobits
  .globl xtc_mailbox
  .p2align 2
  .type xtc_mailbox,%object
xtc_mailbox:
  .zero 16
  .size xtc_mailbox, 16
