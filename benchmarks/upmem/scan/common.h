/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

typedef struct {
    uint32_t bytes; /* a multiple of NR_TASKLETS blocks */
    enum { SCAN, ADD } kernel;
    uint64_t before; /* of ADD: the sum of all DPUs before this one */
} arguments;
