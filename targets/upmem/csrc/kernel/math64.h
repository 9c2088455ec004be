/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of doubles, and functions of floats that use them: series with reduced arguments. Each
   operation here is a routine of about a hundred to two thousand instructions. */
static inline double xtc_to_double(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint64_t xtc_of_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double fabs(double x)
{
    return xtc_to_double(xtc_of_double(x) & ~(1ull << 63));
}

static inline double xtc_signed(double size, double sign)
{
    return xtc_to_double(xtc_of_double(size) | (xtc_of_double(sign) & 1ull << 63));
}

static double trunc(double x)
{
    if (!(fabs(x) < 4503599627370496.0))
        return x;
    return xtc_signed(fabs((double)(int64_t)x), x);
}

static double floor(double x)
{
    double whole = trunc(x);
    return whole > x ? whole - 1 : whole;
}

static double ceil(double x)
{
    double whole = trunc(x);
    return whole < x ? xtc_signed(fabs(whole + 1), whole + 1 == 0 ? x : whole + 1) : whole;
}

/* To the nearest, halves to even. */
static double rint(double x)
{
    if (!(fabs(x) < 4503599627370496.0))
        return x;
    double far = fabs(x) + 4503599627370496.0;
    return xtc_signed(far - 4503599627370496.0, x);
}

/* Newton's method for 1 / sqrt(x), from half of the exponent. */
static double sqrt(double x)
{
    if (x < 0)
        return __builtin_nan("");
    if (x == 0 || !(x < __builtin_inf()))
        return x;
    double scale = x < 1e-290 ? 0x1p-50 : 1;
    x = x < 1e-290 ? x * 0x1p100 : x;
    double y = xtc_to_double(0x5fe6eb50c7b537a9ull - (xtc_of_double(x) >> 1));
    for (int i = 0; i < 4; i++)
        y = y * (1.5 - 0.5 * x * y * y);
    double root = x * y;
    return (root + 0.5 * y * (x - root * root)) * scale;
}

/* e^x = 2^n e^r, |r| <= ln(2) / 2: Taylor's series. */
static double exp(double x)
{
    if (x != x)
        return x;
    if (x > 709.79)
        return __builtin_inf();
    if (x < -745.2)
        return 0;
    double n = rint(x * 1.4426950408889634);
    double r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
    double sum = 1;
    for (int i = 14; i > 0; i--)
        sum = 1 + r * sum / i;
    int32_t half = (int32_t)n / 2, rest = (int32_t)n - half;
    return sum * xtc_to_double((uint64_t)(half + 1023) << 52) *
           xtc_to_double((uint64_t)(rest + 1023) << 52);
}

/* ln(2^n m) with m near 1, by the series of 2 artanh((m - 1) / (m + 1)). */
static double log(double x)
{
    if (x != x || x == __builtin_inf())
        return x;
    if (x <= 0)
        return x == 0 ? -__builtin_inf() : __builtin_nan("");
    int32_t n = 0;
    if (x < 0x1p-1000) {
        x *= 0x1p100;
        n = -100;
    }
    uint64_t bits = xtc_of_double(x);
    n += (int32_t)(bits >> 52) - 1023;
    double m = xtc_to_double((bits & 0xfffffffffffffull) | 1023ull << 52);
    if (m > 1.4142135623730951) {
        m *= 0.5;
        n++;
    }
    double s = (m - 1) / (m + 1), square = s * s, sum = 0;
    for (int i = 25; i > 1; i -= 2)
        sum = (sum + 1.0 / i) * square;
    double small = 2 * s + 2 * s * sum;
    return n * 0.693147180369123816490 + (n * 1.90821492927058770002e-10 + small);
}

static double expm1(double x)
{
    double u = exp(x);
    if (u == 1)
        return x;
    if (u - 1 == -1 || u == __builtin_inf())
        return u - 1;
    return (u - 1) * x / log(u);
}

static double log1p(double x)
{
    double u = 1 + x;
    return u == 1 || u == __builtin_inf() ? x : log(u) * x / (u - 1);
}

static double exp2(double x) { return exp(x * 0.69314718055994531); }
static double log2(double x) { return log(x) * 1.4426950408889634; }
static double log10(double x) { return log(x) * 0.43429448190325183; }

static double sinh(double x)
{
    double t = expm1(fabs(x));
    return t == __builtin_inf() ? xtc_signed(t, x) : xtc_signed((t + t / (t + 1)) / 2, x);
}

static double cosh(double x)
{
    double e = exp(fabs(x));
    return e / 2 + 0.5 / e;
}

static double tanh(double x)
{
    double t = fabs(x) > 20 ? 2 : expm1(2 * fabs(x));
    return x != x ? x : fabs(x) > 20 ? xtc_signed(1, x) : xtc_signed(t / (t + 2), x);
}

/* The sine of the angle plus `quarters` quarter turns, after reduction to one quarter. */
static double xtc_sine(double x, int64_t quarters)
{
    if (!(fabs(x) < 1e15))
        return __builtin_nan("");
    double n = rint(x * 0.63661977236758134);
    double r = ((x - n * 1.57079632673412561417e+00) - n * 6.07710050630396597660e-11) -
               n * 2.02226624879595063154e-21;
    int64_t which = (int64_t)n + quarters;
    double square = r * r, sum = 1;
    bool is_cosine = which & 1;
    for (int i = is_cosine ? 19 : 20; i > 0; i -= 2)
        sum = 1 - square * sum / (i * (i + 1));
    double value = is_cosine ? sum : r * sum;
    return which & 2 ? -value : value;
}

static double sin(double x) { return x == 0 ? x : xtc_sine(x, 0); }
static double cos(double x) { return xtc_sine(x, 1); }
static double tan(double x) { return x == 0 ? x : xtc_sine(x, 0) / xtc_sine(x, 1); }

static double atan(double x)
{
    double t = fabs(x), more = 0;
    bool far = t > 1;
    if (x != x)
        return x;
    if (far)
        t = 1 / t;
    if (t > 0.26794919243112270) {
        t = (t * 1.7320508075688772 - 1) / (1.7320508075688772 + t);
        more = 0.52359877559829887;
    }
    double square = t * t, sum = 0;
    for (int i = 31; i > 1; i -= 2)
        sum = (1.0 / i - sum) * square;
    double angle = more + (t - t * sum);
    return xtc_signed(far ? 1.5707963267948966 - angle : angle, x);
}

static double asin(double x)
{
    double size = fabs(x);
    if (!(size <= 1))
        return __builtin_nan("");
    if (size > 0.5)
        return xtc_signed(1.5707963267948966 - 2 * atan(sqrt((1 - size) / (1 + size))), x);
    return atan(x / sqrt((1 - x) * (1 + x)));
}

static double acos(double x)
{
    if (!(fabs(x) <= 1))
        return __builtin_nan("");
    return x == -1 ? 3.1415926535897931 : 2 * atan(sqrt((1 - x) / (1 + x)));
}

static double atan2(double y, double x)
{
    if (x != x || y != y)
        return x + y;
    if (x == 0 && y == 0)
        return xtc_of_double(x) >> 63 ? xtc_signed(3.1415926535897931, y) : y;
    double angle = x == 0 ? 1.5707963267948966 : atan(fabs(y) / fabs(x));
    return xtc_signed(xtc_of_double(x) >> 63 && x != 0 ? 3.1415926535897931 - angle : angle, y);
}

static double asinh(double x)
{
    double size = fabs(x);
    if (size > 1e150)
        return xtc_signed(log(size) + 0.69314718055994531, x);
    return xtc_signed(log1p(size + size * size / (1 + sqrt(size * size + 1))), x);
}

static double acosh(double x)
{
    return x > 1e150 ? log(x) + 0.69314718055994531 : log1p(x - 1 + sqrt((x - 1) * (x + 1)));
}

static double atanh(double x) { return 0.5 * log1p(2 * x / (1 - x)); }

/* A series of positive terms; for large arguments a continued fraction of the complement to 1. */
static double erfc(double x)
{
    double size = fabs(x), square = x * x, rest;
    if (x != x)
        return x;
    if (size < 2.5) {
        double term = size, sum = size;
        for (int i = 1; i < 60; i++)
            sum += term = term * 2 * square / (2 * i + 1);
        rest = 1 - sum * exp(-square) * 1.1283791670955126;
    } else {
        double fraction = size;
        for (int i = 60; i > 0; i--)
            fraction = size + i * 0.5 / fraction;
        rest = size > 27 ? 0 : exp(-square) * 0.56418958354775629 / fraction;
    }
    return x < 0 ? 2 - rest : rest;
}

static double erf(double x)
{
    double size = fabs(x), square = x * x, term = size, sum = size;
    if (!(size < 2.5))
        return x != x ? x : xtc_signed(1 - erfc(size), x);
    for (int i = 1; i < 60; i++)
        sum += term = term * 2 * square / (2 * i + 1);
    return xtc_signed(sum * exp(-square) * 1.1283791670955126, x);
}

static double pow(double x, double y)
{
    bool whole = trunc(y) == y, odd = whole && fabs(y) < 9007199254740992.0 && ((int64_t)y & 1);
    if (y == 0 || x == 1)
        return 1;
    if (x != x || y != y)
        return x + y;
    if (x == 0)
        return y > 0 ? (odd ? x : 0) : odd ? xtc_signed(__builtin_inf(), x) : __builtin_inf();
    if (x == -1 && fabs(y) == __builtin_inf())
        return 1;
    if (x < 0 && !whole)
        return __builtin_nan("");
    double size = exp(y * log(fabs(x)));
    return x < 0 && odd ? -size : size;
}

/* The remainder of x divided by y. */
static double fmod(double x, double y)
{
    double left = fabs(x), step = fabs(y);
    if (!(left < __builtin_inf()) || !(step > 0))
        return __builtin_nan("");
    while (left >= step) {
        double large = step;
        while (large <= left * 0.5)
            large *= 2;
        left -= large;
    }
    return xtc_signed(left, x);
}

#define XTC_BY_DOUBLE(name) \
    static inline float name##f(float x) { return (float)name((double)x); }
XTC_BY_DOUBLE(trunc)
XTC_BY_DOUBLE(rint)
XTC_BY_DOUBLE(sin)
XTC_BY_DOUBLE(cos)
XTC_BY_DOUBLE(tan)
XTC_BY_DOUBLE(asin)
XTC_BY_DOUBLE(acos)
XTC_BY_DOUBLE(atan)
XTC_BY_DOUBLE(sinh)
XTC_BY_DOUBLE(cosh)
XTC_BY_DOUBLE(asinh)
XTC_BY_DOUBLE(acosh)
XTC_BY_DOUBLE(atanh)
XTC_BY_DOUBLE(erfc)
XTC_BY_DOUBLE(expm1)
XTC_BY_DOUBLE(log1p)
XTC_BY_DOUBLE(exp2)
XTC_BY_DOUBLE(log2)
XTC_BY_DOUBLE(log10)
static inline float powf(float x, float y) { return (float)pow((double)x, (double)y); }
static inline float fmodf(float x, float y) { return (float)fmod((double)x, (double)y); }
static inline float atan2f(float y, float x) { return (float)atan2((double)y, (double)x); }
