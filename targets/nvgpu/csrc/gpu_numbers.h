// SPDX-License-Identifier: Apache-2.0
// Conversions of 16-bit floating-point numbers to float32.
#ifndef GPU_NUMBERS_H
#define GPU_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline float gpu_float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float gpu_float_of_half(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, rest = half & 0x7fffu;
    if (rest >= 0x7c00) // infinity or NaN
        return gpu_float_of_bits(sign | 0x7f800000u | (rest & 0x3ff) << 13);
    return gpu_float_of_bits(sign | rest << 13) * 0x1p112f; // moves the exponent's bias
}

// gpu_widen.c: convert float16 or bfloat16 numbers; their count is a multiple of 8.
void gpu_widen(bool bfloat, const uint16_t *from, float *to, uint32_t count);

#endif
