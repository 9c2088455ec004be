/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

typedef struct {
    uint32_t elements; /* sorted, the same on every DPU */
    uint32_t queries;  /* of this DPU, a multiple of a block */
} arguments;
