/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

#define WINDOW 16 /* elements of the query */

typedef struct {
    uint32_t elements, padding; /* of the series in a DPU, a multiple of a block */
} arguments;

typedef struct {
    uint32_t distance, position;
} best;
