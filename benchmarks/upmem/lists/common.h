/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

#define BUCKETS 32

typedef struct {
    uint32_t elements, padding; /* even */
} arguments;
