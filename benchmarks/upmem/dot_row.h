/* SPDX-License-Identifier: Apache-2.0 */
/* A row of a matrix in MRAM times a vector in MRAM, in blocks. */
#ifndef DOT_ROW_H
#define DOT_ROW_H

#include <mram.h>
#include <stdint.h>

#define BLOCK_BYTES (1 << BLOCK)

static void dot(const uint32_t *a, const uint32_t *b, uint32_t count, uint32_t *sum)
{
    for (uint32_t i = 0; i < count; i++)
        *sum += a[i] * b[i];
}

static void dot_row(uint32_t row, uint32_t vector, uint32_t columns, uint32_t *a, uint32_t *b,
                    uint32_t *sum)
{
    uint32_t bytes = columns * 4;
    *sum = 0;
    for (uint32_t at = 0; at < bytes; at += BLOCK_BYTES) {
        uint32_t left = bytes - at, now = left < BLOCK_BYTES ? left : BLOCK_BYTES;
        mram_read((__mram_ptr void const *)(row + at), a, BLOCK_BYTES);
        mram_read((__mram_ptr void const *)(vector + at), b, BLOCK_BYTES);
        dot(a, b, now / 4, sum);
    }
}

#endif
