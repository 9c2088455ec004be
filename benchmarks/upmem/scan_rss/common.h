/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

typedef struct {
    uint32_t bytes; /* a multiple of NR_TASKLETS blocks */
    enum { SUM, SCAN } kernel;
    uint64_t before; /* of SCAN: the sum of all DPUs before this one */
} arguments;
