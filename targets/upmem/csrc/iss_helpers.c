// SPDX-License-Identifier: Apache-2.0
// Arithmetic that the machine does in software routines, and its byte multiplications.
// Floating-point arithmetic is IEEE 754, rounded to nearest even; NaN results have the bits of the
// compilers' routines.
#include <fenv.h>
#include <math.h>
#include <string.h>

#include "iss.h"
#include "timing.h"

#define HELPER(number, name, cost) HELP_##name = number,
enum helper {
#include "xtc_helpers.def"
};
#undef HELPER

#define HELPER(number, name, cost) [number] = &cost_##cost,
#define cost_MUL32 cost_MUL32_BASE
static const double *const costs[] = {
#include "xtc_helpers.def"
};
#undef HELPER

#define QUIET_F32 0x00400000u
#define QUIET_F64 0x0008000000000000u
#define NAN_F32 0x7fc00000u
#define NAN_F64 0x7ff8000000000000u

static float to_f32(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double to_f64(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_f32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t bits_f64(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

// The NaN of a result, with operands a and b.
static uint32_t result_f32(float result, uint32_t a, uint32_t b)
{
    if (!isnan(result))
        return bits_f32(result);
    return isnan(to_f32(a)) ? a | QUIET_F32 : isnan(to_f32(b)) ? b | QUIET_F32 : NAN_F32;
}

static uint64_t result_f64(double result, uint64_t a, uint64_t b)
{
    if (!isnan(result))
        return bits_f64(result);
    return isnan(to_f64(a)) ? a | QUIET_F64 : isnan(to_f64(b)) ? b | QUIET_F64 : NAN_F64;
}

static uint32_t arithmetic_f32(enum helper helper, uint32_t a, uint32_t b)
{
    float x = to_f32(a), y = to_f32(b);
    switch (helper) {
    case HELP_addsf3: return result_f32(x + y, a, b);
    case HELP_subsf3: return result_f32(x - y, a, b);
    case HELP_mulsf3: return result_f32(x * y, a, b);
    case HELP_divsf3: return result_f32(x / y, a, b);
    default: return result_f32(sqrtf(x), a, a);
    }
}

static uint64_t arithmetic_f64(enum helper helper, uint64_t a, uint64_t b)
{
    double x = to_f64(a), y = to_f64(b);
    switch (helper) {
    case HELP_adddf3: return result_f64(x + y, a, b);
    case HELP_subdf3: return result_f64(x - y, a, b);
    case HELP_muldf3: return result_f64(x * y, a, b);
    case HELP_divdf3: return result_f64(x / y, a, b);
    default: return result_f64(sqrt(x), a, a);
    }
}

// -1, 0 or 1; `unordered` if an operand is NaN.
static int32_t compare(double x, double y, int32_t unordered)
{
    if (isnan(x) || isnan(y))
        return unordered;
    return x < y ? -1 : x > y;
}

// To an integer between two limits, rounded toward 0; NaN becomes 0.
static int64_t truncated(double value, double low, double high, int64_t lowest, int64_t highest)
{
    if (isnan(value))
        return 0;
    return value <= low ? lowest : value >= high ? highest : (int64_t)value;
}

static uint64_t truncated_u64(double value)
{
    if (!(value > 0))
        return 0;
    return value >= 0x1p64 ? UINT64_MAX : (uint64_t)value;
}

static int32_t to_i32(double value)
{
    return (int32_t)truncated(value, -0x1p31, 0x1p31, INT32_MIN, INT32_MAX);
}

static uint32_t to_u32(double value)
{
    return (uint32_t)truncated(value, 0, 0x1p32, 0, UINT32_MAX);
}

static int64_t to_i64(double value)
{
    return truncated(value, -0x1p63, 0x1p63, INT64_MIN, INT64_MAX);
}

// Half precision has 5 bits of exponent and 10 of fraction.
static double from_f16(uint32_t bits)
{
    int exponent = (int)(bits >> 10 & 31);
    double fraction = bits & 1023, sign = bits & 0x8000 ? -1 : 1;
    if (exponent == 31)
        return fraction != 0 ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0)
        return sign * ldexp(fraction, -24);
    return sign * ldexp(1024 + fraction, exponent - 25);
}

// Rounds to nearest even: adding a power of two drops the bits after the last one.
static uint32_t to_f16(double value)
{
    uint32_t sign = signbit(value) ? 0x8000 : 0;
    double magnitude = fabs(value);
    if (isnan(value))
        return 0x7e00;
    if (magnitude >= 65520)
        return sign | 0x7c00;
    int exponent = magnitude < 0x1p-14 ? -14 : ilogb(magnitude);
    double scaled = nearbyint(ldexp(magnitude, 10 - exponent)); // 1024 to 2048, or less for subnormals
    uint32_t fraction = (uint32_t)scaled;
    return sign | (fraction + ((uint32_t)(exponent + 14) << 10));
}

static uint32_t to_bf16(uint32_t bits)
{
    if (isnan(to_f32(bits)))
        return 0x7fc0;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

static uint64_t convert(enum helper helper, uint64_t a)
{
    uint32_t low = (uint32_t)a;
    switch (helper) {
    case HELP_floatsisf: return bits_f32((float)(int32_t)low);
    case HELP_floatunsisf: return bits_f32((float)low);
    case HELP_floatdisf: return bits_f32((float)(int64_t)a);
    case HELP_floatundisf: return bits_f32((float)a);
    case HELP_floatsidf: return bits_f64((int32_t)low);
    case HELP_floatunsidf: return bits_f64(low);
    case HELP_floatdidf: return bits_f64((double)(int64_t)a);
    case HELP_floatundidf: return bits_f64((double)a);
    case HELP_fixsfsi: return (uint32_t)to_i32((double)to_f32(low));
    case HELP_fixunssfsi: return to_u32((double)to_f32(low));
    case HELP_fixsfdi: return (uint64_t)to_i64((double)to_f32(low));
    case HELP_fixunssfdi: return truncated_u64((double)to_f32(low));
    case HELP_fixdfsi: return (uint32_t)to_i32(to_f64(a));
    case HELP_fixunsdfsi: return to_u32(to_f64(a));
    case HELP_fixdfdi: return (uint64_t)to_i64(to_f64(a));
    case HELP_fixunsdfdi: return truncated_u64(to_f64(a));
    case HELP_extendhfsf2: return bits_f32((float)from_f16(low & 0xffff));
    case HELP_truncsfhf2: return to_f16((double)to_f32(low));
    case HELP_extendhfdf2: return bits_f64(from_f16(low & 0xffff));
    case HELP_truncdfhf2: return to_f16(to_f64(a));
    case HELP_truncsfbf2: return to_bf16(low);
    case HELP_extendsfdf2: return bits_f64((double)to_f32(low));
    default: return bits_f32((float)to_f64(a));
    }
}

static uint64_t divide_64(dpu *dpu, enum helper helper, uint64_t a, uint64_t b)
{
    if (b == 0) {
        dpu_raise(dpu, DPU_DIVIDE_BY_ZERO, 0);
        return 0;
    }
    bool overflows = a == (uint64_t)INT64_MIN && b == UINT64_MAX;
    switch (helper) {
    case HELP_divdi3: return overflows ? a : (uint64_t)((int64_t)a / (int64_t)b);
    case HELP_moddi3: return overflows ? 0 : (uint64_t)((int64_t)a % (int64_t)b);
    case HELP_udivdi3: return a / b;
    default: return a % b;
    }
}

static uint32_t divide_32(dpu *dpu, enum helper helper, uint32_t a, uint32_t b)
{
    if (b == 0) {
        dpu_raise(dpu, DPU_DIVIDE_BY_ZERO, 0);
        return 0;
    }
    bool overflows = a == (uint32_t)INT32_MIN && b == UINT32_MAX;
    switch (helper) {
    case HELP_divsi3: return overflows ? a : (uint32_t)((int32_t)a / (int32_t)b);
    case HELP_modsi3: return overflows ? 0 : (uint32_t)((int32_t)a % (int32_t)b);
    case HELP_udivsi3: return a / b;
    default: return a % b;
    }
}

static uint64_t shift_64(enum helper helper, uint64_t a, uint32_t by)
{
    by &= 63;
    switch (helper) {
    case HELP_ashldi3: return a << by;
    case HELP_lshrdi3: return a >> by;
    default: return (uint64_t)((int64_t)a >> by);
    }
}

static int32_t compared(enum helper helper, uint64_t a, uint64_t b)
{
    bool is_f32 = helper <= HELP_unordsf2;
    double x = is_f32 ? (double)to_f32((uint32_t)a) : to_f64(a);
    double y = is_f32 ? (double)to_f32((uint32_t)b) : to_f64(b);
    switch (helper) {
    case HELP_unordsf2:
    case HELP_unorddf2: return isnan(x) || isnan(y);
    case HELP_gtsf2:
    case HELP_gesf2:
    case HELP_gtdf2:
    case HELP_gedf2: return compare(x, y, -1);
    default: return compare(x, y, 1);
    }
}

// One step per bit of the smaller operand.
static uint32_t product_cost(uint32_t a, uint32_t b)
{
    uint32_t least = a < b ? a : b;
    uint32_t bits = least ? 32 - (uint32_t)__builtin_clz(least) : 0;
    return (uint32_t)(cost_MUL32_BASE + cost_MUL32_BIT * bits);
}

static bool is_wide(enum helper helper) // whether operands have 64 bits
{
    return (helper >= HELP_muldi3 && helper <= HELP_lshrdi3) ||
           (helper >= HELP_adddf3 && helper <= HELP_divdf3) ||
           (helper >= HELP_eqdf2 && helper <= HELP_unorddf2);
}

static uint64_t computed(dpu *dpu, enum helper helper, uint64_t a, uint64_t b)
{
    if (helper == HELP_mulsi3)
        return (uint32_t)a * (uint32_t)b;
    if (helper <= HELP_umodsi3)
        return divide_32(dpu, helper, (uint32_t)a, (uint32_t)b);
    if (helper == HELP_muldi3)
        return a * b;
    if (helper <= HELP_umoddi3)
        return divide_64(dpu, helper, a, b);
    if (helper <= HELP_lshrdi3)
        return shift_64(helper, a, (uint32_t)b);
    if (helper <= HELP_divsf3 || helper == HELP_sqrtf)
        return arithmetic_f32(helper, (uint32_t)a, (uint32_t)b);
    if (helper <= HELP_divdf3 || helper == HELP_sqrt)
        return arithmetic_f64(helper, a, b);
    if (helper <= HELP_unorddf2)
        return (uint32_t)compared(helper, a, b);
    return convert(helper, a);
}

uint32_t dpu_helper(dpu *dpu, uint32_t number)
{
    uint32_t *x = dpu->tasklet[dpu->here].x;
    enum helper helper = (enum helper)number;
    if (number >= sizeof costs / sizeof *costs) {
        dpu_raise(dpu, DPU_BAD_INSTRUCTION, dpu->tasklet[dpu->here].pc);
        return 0;
    }
    uint32_t cost = helper == HELP_mulsi3 ? product_cost(x[10], x[11]) : (uint32_t)*costs[number];
    uint64_t a = (uint64_t)x[11] << 32 | x[10];
    uint64_t b = is_wide(helper) ? (uint64_t)x[13] << 32 | x[12] : x[11];
    uint64_t result = computed(dpu, helper, a, b);
    x[10] = (uint32_t)result;
    x[11] = (uint32_t)(result >> 32);
    return cost;
}

static int32_t byte_of(uint32_t word, bool high, bool is_signed)
{
    uint8_t byte = (uint8_t)(high ? word >> 8 : word);
    return is_signed ? (int8_t)byte : byte;
}

static uint32_t equal_bytes(uint32_t a, uint32_t b)
{
    uint32_t result = 0;
    for (int i = 0; i < 32; i += 8)
        result |= (uint32_t)((a >> i & 255) == (b >> i & 255)) << i;
    return result;
}

static uint32_t leading_zeros(uint32_t a)
{
    return a ? (uint32_t)__builtin_clz(a) : 32;
}

// Numbered as in device/include/built_ins.h.
uint32_t dpu_bytes(uint32_t number, uint32_t a, uint32_t b)
{
    if (number < 12) {
        int32_t x = byte_of(a, number >> 1 & 1, number < 8), y = byte_of(b, number & 1, number < 4);
        return (uint32_t)(x * y);
    }
    switch (number) {
    case 12: return equal_bytes(a, b);
    case 13: return (uint32_t)__builtin_popcount(a);
    case 14: return leading_zeros(a);
    case 15: return leading_zeros(~a);
    case 16: return leading_zeros((int32_t)a < 0 ? ~a : a);
    default: return a << (b & 31) | a >> (-b & 31);
    }
}
