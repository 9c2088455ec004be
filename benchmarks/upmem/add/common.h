/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

typedef struct {
    uint32_t bytes; /* of each vector in a DPU, a multiple of a block */
} arguments;
