/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

typedef struct {
    uint32_t rows; /* in this DPU, even */
    uint32_t columns;
    uint32_t most_rows; /* of a DPU */
} arguments;
