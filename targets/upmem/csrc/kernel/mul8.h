/* SPDX-License-Identifier: Apache-2.0 */
#include <built_ins.h>

/* The product of two 8-bit numbers, as one instruction. */
static inline int32_t xtc_mul8(int32_t a, int32_t b)
{
    int32_t product;
    __builtin_mul_sl_sl_rrr(product, a, b);
    return product;
}
