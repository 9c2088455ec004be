// SPDX-License-Identifier: Apache-2.0
// The functions of math.h with instructions, or in the run-time library of boards.
#pragma once

#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf(x)
#define signbit(x) __builtin_signbit(x)
#define XTC_UNARY(name) \
  static inline float name##f(float x) { return __builtin_##name##f(x); } \
  static inline double name(double x) { return __builtin_##name(x); }
#define XTC_BINARY(name) \
  static inline float name##f(float x, float y) { return __builtin_##name##f(x, y); } \
  static inline double name(double x, double y) { return __builtin_##name(x, y); }
XTC_UNARY(fabs)
XTC_UNARY(sqrt)
XTC_UNARY(floor)
XTC_UNARY(ceil)
XTC_UNARY(trunc)
XTC_UNARY(round)
XTC_UNARY(rint)
XTC_BINARY(copysign)
XTC_BINARY(fmax)
XTC_BINARY(fmin)
#undef XTC_UNARY
#undef XTC_BINARY
static inline float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
static inline double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
