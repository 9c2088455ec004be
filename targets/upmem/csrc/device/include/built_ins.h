/* SPDX-License-Identifier: Apache-2.0 */
/* Machine instructions without a C operator. */
#ifndef DPU_BUILT_INS_H
#define DPU_BUILT_INS_H

#include <stdint.h>
#include <xtc_services.h>

/* Products of single bytes: l the lowest and h the second byte of an operand, s signed, u not. */
#define __builtin_mul_sl_sl_rrr(c, a, b) ((c) = (int32_t)XTC_INSTRUCTION(XTC_BYTES + 0, a, b))
#define __builtin_mul_sl_sh_rrr(c, a, b) ((c) = (int32_t)XTC_INSTRUCTION(XTC_BYTES + 1, a, b))
#define __builtin_mul_sh_sl_rrr(c, a, b) ((c) = (int32_t)XTC_INSTRUCTION(XTC_BYTES + 2, a, b))
#define __builtin_mul_sh_sh_rrr(c, a, b) ((c) = (int32_t)XTC_INSTRUCTION(XTC_BYTES + 3, a, b))
#define __builtin_mul_sl_ul_rrr(c, a, b) ((c) = (int32_t)XTC_INSTRUCTION(XTC_BYTES + 4, a, b))
#define __builtin_mul_sl_uh_rrr(c, a, b) ((c) = (int32_t)XTC_INSTRUCTION(XTC_BYTES + 5, a, b))
#define __builtin_mul_sh_ul_rrr(c, a, b) ((c) = (int32_t)XTC_INSTRUCTION(XTC_BYTES + 6, a, b))
#define __builtin_mul_sh_uh_rrr(c, a, b) ((c) = (int32_t)XTC_INSTRUCTION(XTC_BYTES + 7, a, b))
#define __builtin_mul_ul_ul_rrr(c, a, b) ((c) = XTC_INSTRUCTION(XTC_BYTES + 8, a, b))
#define __builtin_mul_ul_uh_rrr(c, a, b) ((c) = XTC_INSTRUCTION(XTC_BYTES + 9, a, b))
#define __builtin_mul_uh_ul_rrr(c, a, b) ((c) = XTC_INSTRUCTION(XTC_BYTES + 10, a, b))
#define __builtin_mul_uh_uh_rrr(c, a, b) ((c) = XTC_INSTRUCTION(XTC_BYTES + 11, a, b))

#define __builtin_nop_() __asm__ volatile("nop")

/* For each byte: 1 if a and b are equal, 0 otherwise. */
#define __builtin_cmpb4_rrr(c, a, b) ((c) = XTC_INSTRUCTION(XTC_BYTES + 12, a, b))
/* Counts of one bits, leading zeros, leading ones, leading bits that equal the sign. */
#define __builtin_cao_rr(c, a) ((c) = XTC_INSTRUCTION(XTC_BYTES + 13, a, 0))
#define __builtin_clz_rr(c, a) ((c) = XTC_INSTRUCTION(XTC_BYTES + 14, a, 0))
#define __builtin_clo_rr(c, a) ((c) = XTC_INSTRUCTION(XTC_BYTES + 15, a, 0))
#define __builtin_cls_rr(c, a) ((c) = XTC_INSTRUCTION(XTC_BYTES + 16, a, 0))
#define __builtin_rol_rrr(c, a, b) ((c) = XTC_INSTRUCTION(XTC_BYTES + 17, a, b))

#endif
