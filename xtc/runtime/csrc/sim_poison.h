// SPDX-License-Identifier: Apache-2.0
// The pattern of uninitialized memory.
#ifndef SIM_POISON_H
#define SIM_POISON_H

#include <stdint.h>

// NaN as float16, bfloat16, float32 and float64, at any alignment to elements.
#define SIM_POISON 0x7ff5u

// Fill with the pattern, aligned to even addresses.
void sim_poison(void *bytes, uint64_t nbytes);

#endif
