/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

typedef struct {
    uint32_t rows, columns; /* of a matrix of tiles */
    uint32_t tile;          /* bytes of a tile, a multiple of 4 and not always of 8 */
    uint32_t padding;
} arguments;
