/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the compiler provides; the machine has no floating-point instructions. */
#ifndef DPU_MATH_H
#define DPU_MATH_H

#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define fabs(x) __builtin_fabs(x)
#define fabsf(x) __builtin_fabsf(x)

float sqrtf(float value);
double sqrt(double value);

#endif
