// SPDX-License-Identifier: Apache-2.0
// Computes one element of each operation, on bit patterns. Results are rounded once, to nearest
// even.
#include <math.h>
#include <string.h>

#include "wse_sim.h"

static float single(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t single_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double half(uint32_t bits)
{
    uint16_t narrow = (uint16_t)bits;
    _Float16 value;
    memcpy(&value, &narrow, sizeof value);
    return (double)value;
}

// Through double, in which sums and products of two halves are exact.
static uint32_t half_bits(double value)
{
    _Float16 narrow = (_Float16)value;
    uint16_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    return bits;
}

#define ELEMENT(name, value)                                                                       \
    static uint32_t name(uint32_t a, uint32_t b, uint32_t c)                                       \
    {                                                                                              \
        (void)a, (void)b, (void)c;                                                                 \
        return (value);                                                                            \
    }

ELEMENT(move, a)
ELEMENT(faddh, half_bits(half(a) + half(b)))
ELEMENT(fadds, single_bits(single(a) + single(b)))
ELEMENT(faddhs, single_bits((float)((double)single(a) + half(b))))
ELEMENT(fsubh, half_bits(half(a) - half(b)))
ELEMENT(fsubs, single_bits(single(a) - single(b)))
ELEMENT(fmulh, half_bits(half(a) * half(b)))
ELEMENT(fmuls, single_bits(single(a) * single(b)))
ELEMENT(fmach, half_bits(half(a) + half(b) * half(c)))
ELEMENT(fmacs, single_bits(fmaf(single(b), single(c), single(a))))
ELEMENT(fmachs, single_bits((float)((double)single(a) + half(b) * half(c))))
ELEMENT(fmaxh, half_bits(fmax(half(a), half(b))))
ELEMENT(fmaxs, single_bits(fmaxf(single(a), single(b))))
ELEMENT(fminh, half_bits(fmin(half(a), half(b))))
ELEMENT(fmins, single_bits(fminf(single(a), single(b))))
ELEMENT(fnegh, a ^ 0x8000)
ELEMENT(fnegs, a ^ 0x80000000u)
ELEMENT(fabsh, a & 0x7fff)
ELEMENT(fabss, a & 0x7fffffffu)
ELEMENT(fh2s, single_bits((float)half(a)))
ELEMENT(fs2h, half_bits((double)single(a)))
ELEMENT(add16, (a + b) & 0xffff)
ELEMENT(sub16, (a - b) & 0xffff)
ELEMENT(and16, a & b)
ELEMENT(or16, a | b)
ELEMENT(xor16, a ^ b)
ELEMENT(sll16, a << (b & 15) & 0xffff)
ELEMENT(slr16, (a & 0xffff) >> (b & 15))
ELEMENT(sar16, (uint32_t)((int16_t)a >> (b & 15)) & 0xffff)
ELEMENT(xp162fh, half_bits((double)(int16_t)a))
ELEMENT(xp162fs, single_bits((float)(int16_t)a))
ELEMENT(fh2xp16, (uint32_t)(int32_t)rint(half(a)) & 0xffff)
ELEMENT(fs2xp16, (uint32_t)(int32_t)rintf(single(a)) & 0xffff)
ELEMENT(fscaleh, half_bits(ldexp(half(a), (int16_t)b)))
ELEMENT(fscales, single_bits(ldexpf(single(a), (int16_t)b)))
ELEMENT(popcnt, (uint32_t)__builtin_popcount(a & 0xffff))
ELEMENT(clz, a & 0xffff ? (uint32_t)__builtin_clz(a & 0xffff) - 16 : 16)
ELEMENT(ctz, a & 0xffff ? (uint32_t)__builtin_ctz(a & 0xffff) : 16)
ELEMENT(add32, a + b)
ELEMENT(sub32, a - b)

wse_function *const wse_functions[WSE_OPERATIONS] = {
    move,  move,  move,   move,   faddh, fadds,  faddhs,  fsubh,   fsubs, fmulh,
    fmuls, fmach, fmacs,  fmachs, fmaxh, fmaxs,  fnegh,   fnegs,   fabsh, fabss,
    fh2s,  fs2h,  add16,  sub16,  and16, or16,   xor16,   sll16,   slr16, sar16,
    xp162fh, xp162fs, fh2xp16, fs2xp16, add32, sub32, fminh, fmins, add16, fscaleh,
    fscales, popcnt, clz, ctz, move,
};

static bool is_wide(uint32_t operation)
{
    static const uint64_t wide =
        1ull << WSE_MOV32 | 1ull << WSE_FMOVS | 1ull << WSE_FADDS | 1ull << WSE_FADDHS |
        1ull << WSE_FSUBS | 1ull << WSE_FMULS | 1ull << WSE_FMACS | 1ull << WSE_FMACHS |
        1ull << WSE_FMAXS | 1ull << WSE_FNEGS | 1ull << WSE_FABSS | 1ull << WSE_FH2S |
        1ull << WSE_DFILT | 1ull << WSE_XP162FS | 1ull << WSE_ADD32 | 1ull << WSE_SUB32 | 1ull << WSE_FMINS |
        1ull << WSE_FSCALES;
    return wide >> operation & 1;
}

uint32_t wse_size_to(uint32_t operation)
{
    return is_wide(operation) ? 4 : 2;
}

uint32_t wse_size_from(uint32_t operation, uint32_t source)
{
    if ((operation == WSE_FSCALES && source > 0) || operation == WSE_FH2S || operation == WSE_XP162FS)
        return 2;
    if (operation == WSE_FS2H || operation == WSE_FS2XP16)
        return 4;
    if ((operation == WSE_FMACHS || operation == WSE_FADDHS) && source > 0)
        return 2;
    return wse_size_to(operation);
}
