// SPDX-License-Identifier: Apache-2.0
// Start-up of an AArch64 core at EL1: enables floating point, initializes variables, then runs the
// program on command.
//
// Registers: Arm Architecture Reference Manual for A-profile, D19.2.30 (CPACR_EL1).
  .section .vectors,"ax",%progbits
  .globl xtc_vectors
  .p2align 4
xtc_vectors:
  b xtc_reset

  .section .text.xtc_reset,"ax",%progbits
  .globl xtc_reset
  .p2align 2
  .type xtc_reset,%function
xtc_reset:
  mrs x0, cpacr_el1
  orr x0, x0, #(3 << 20)
  msr cpacr_el1, x0
  isb
  adrp x0, xtc_stack_end
  add x0, x0, :lo12:xtc_stack_end
  mov sp, x0
  adrp x0, xtc_data_begin
  add x0, x0, :lo12:xtc_data_begin
  adrp x1, xtc_data_end
  add x1, x1, :lo12:xtc_data_end
  adrp x2, xtc_data_load
  add x2, x2, :lo12:xtc_data_load
1:
  cmp x0, x1
  b.hs 2f
  ldr q0, [x2], #16
  str q0, [x0], #16
  b 1b
2:
  adrp x0, xtc_zero_begin
  add x0, x0, :lo12:xtc_zero_begin
  adrp x1, xtc_zero_end
  add x1, x1, :lo12:xtc_zero_end
3:
  cmp x0, x1
  b.hs xtc_ready
  stp xzr, xzr, [x0], #16
  b 3b

  .globl xtc_ready
  .type xtc_ready,%function
xtc_ready:
  adrp x19, xtc_mailbox
  add x19, x19, :lo12:xtc_mailbox
  ldr w0, [x19]
  cbz w0, xtc_ready
  mrs x20, cntvct_el0
  bl xtc_entry
  mrs x0, cntvct_el0
  sub x0, x0, x20
  str w0, [x19, #8]
  str wzr, [x19]
  b xtc_ready
  .size xtc_reset, . - xtc_reset

  .section .bss.xtc_mailbox,"aw",%nobits
  .globl xtc_mailbox
  .p2align 4
  .type xtc_mailbox,%object
xtc_mailbox:
  .zero 16
  .size xtc_mailbox, 16
