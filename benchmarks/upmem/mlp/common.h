/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

#define LAYERS 3

typedef struct {
    uint32_t rows;    /* of a layer in this DPU, even */
    uint32_t columns; /* even */
} arguments;
