// SPDX-License-Identifier: Apache-2.0
#include "gpu_numbers.h"

static void widen_half(const uint16_t *from, float *to, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        to[i] = gpu_float_of_half(from[i]);
}

#ifdef __x86_64__
#include <immintrin.h>

__attribute__((target("avx2,f16c"), optimize("O3"))) static void
widen_half_by_vectors(const uint16_t *from, float *to, uint32_t count)
{
    for (uint32_t i = 0; i < count; i += 8)
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + i))));
}

static bool has_vectors(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
}
#else
#define widen_half_by_vectors widen_half

static bool has_vectors(void)
{
    return false;
}
#endif

void gpu_widen(bool bfloat, const uint16_t *from, float *to, uint32_t count)
{
    if (bfloat)
        for (uint32_t i = 0; i < count; i++)
            to[i] = gpu_float_of_bits((uint32_t)from[i] << 16);
    else
        (has_vectors() ? widen_half_by_vectors : widen_half)(from, to, count);
}
