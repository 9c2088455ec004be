/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

#define DEGREE 4

typedef struct {
    uint32_t nodes;       /* of the graph, a multiple of 64 */
    uint32_t first, count; /* the nodes whose edges this DPU has */
    uint32_t padding;
} arguments;
