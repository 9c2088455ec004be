/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

#define LENGTH 64 /* of a sequence */
#define MATCH 2
#define MISMATCH (-1)
#define GAP (-2)

typedef struct {
    uint32_t pairs, padding;
} arguments;
