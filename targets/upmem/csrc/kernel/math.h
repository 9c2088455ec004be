/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of floats. Each operation here is a routine of tens to hundreds of instructions. */
static inline float xtc_bits_to_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t xtc_float_to_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* e^x = 2^n * e^r, |r| <= ln(2) / 2, by a polynomial (Cody and Waite's reduction). */
static float expf(float x)
{
    if (x != x)
        return x;
    if (x > 88.8f)
        return __builtin_inff();
    if (x < -103.0f)
        return 0;
    float scaled = x * 1.44269504f;
    int32_t n = (int32_t)(scaled < 0 ? scaled - 0.5f : scaled + 0.5f);
    float r = (x - (float)n * 0.693359375f) + (float)n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    int32_t half = n / 2;
    float first = xtc_bits_to_float((uint32_t)(half + 127) << 23);
    return p * first * xtc_bits_to_float((uint32_t)(n - half + 127) << 23);
}

/* ln(m * 2^e) = e * ln(2) + ln(m), by a polynomial around 1. */
static float logf(float x)
{
    if (x != x || x < 0)
        return __builtin_nanf("");
    if (x == 0)
        return -__builtin_inff();
    int32_t e = 0;
    uint32_t bits = xtc_float_to_bits(x);
    if (bits == 0x7f800000u)
        return x;
    if (bits < 0x00800000u) {
        bits = xtc_float_to_bits(x * 8388608.0f);
        e = -23;
    }
    e += (int32_t)(bits >> 23) - 126;
    float m = xtc_bits_to_float((bits & 0x007fffffu) | 0x3f000000u);
    if (m < 0.707106781f) {
        e--;
        m = m + m - 1.0f;
    } else {
        m = m - 1.0f;
    }
    float z = m * m, p = 7.0376836292e-2f;
    p = p * m - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    p = p * m * z + (float)e * -2.12194440e-4f - 0.5f * z;
    return m + p + (float)e * 0.693359375f;
}

static float tanhf(float x)
{
    float magnitude = x < 0 ? -x : x;
    if (magnitude < 0.625f) {
        float z = x * x, p = -5.70498872745e-3f;
        p = p * z + 2.06390887954e-2f;
        p = p * z - 5.37397155531e-2f;
        p = p * z + 1.33314422036e-1f;
        p = p * z - 3.33332819422e-1f;
        return p * z * x + x;
    }
    float t = magnitude > 9 ? 1.0f : 1.0f - 2.0f / (expf(2.0f * magnitude) + 1.0f);
    return x < 0 ? -t : t;
}

/* Abramowitz and Stegun 7.1.28's kind of rational form, from 7.1.26, in float. */
static float erff(float x)
{
    float a = x < 0 ? -x : x, result;
    if (a < 0.5f) { /* the series: the other form loses digits near 0 */
        float z = x * x;
        return x * (1.128379167f +
                    z * (-0.3761263890f +
                         z * (0.1128379167f + z * (-0.02686617064f + z * 0.005223977625f))));
    }
    float t = 1.0f / (1.0f + 0.3275911f * a);
    float p = 1.061405429f;
    p = p * t - 1.453152027f;
    p = p * t + 1.421413741f;
    p = p * t - 0.284496736f;
    p = p * t + 0.254829592f;
    result = 1.0f - p * t * expf(-a * a);
    return x < 0 ? -result : result;
}

static float sqrtf(float x)
{
    if (!(x > 0))
        return x == 0 ? x : __builtin_nanf("");
    if (xtc_float_to_bits(x) == 0x7f800000u)
        return x;
    float y = xtc_bits_to_float((xtc_float_to_bits(x) >> 1) + 0x1fbd1df5u);
    for (int i = 0; i < 3; i++)
        y = 0.5f * (y + x / y);
    return y;
}

static inline float fabsf(float x)
{
    return xtc_bits_to_float(xtc_float_to_bits(x) & 0x7fffffffu);
}

static inline float fmaf(float a, float b, float c)
{
    return a * b + c;
}

static float floorf(float x)
{
    if (fabsf(x) >= 8388608.0f || x != x)
        return x;
    float whole = (float)(int32_t)x;
    return whole > x ? whole - 1.0f : whole;
}

static float ceilf(float x)
{
    return -floorf(-x);
}
