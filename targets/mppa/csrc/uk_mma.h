// SPDX-License-Identifier: Apache-2.0
// Micro-kernels in plain C, whose inner loops the compiler vectorizes. A faster version for a
// machine may replace one of these under the same name.
#ifndef UK_MMA_H
#define UK_MMA_H

#include <stddef.h>
#include <stdint.h>

// With checks on, a micro-kernel reports each row that it accesses; see dev_access of dev.h.
#ifdef DEV_WATCHED
#include "dev.h"
#define UK_TELL(BASE, ADDRESS, COUNT, WRITES)                                                      \
    dev_access(BASE, ADDRESS, (COUNT) * sizeof *(ADDRESS), WRITES)
#else
#define UK_TELL(BASE, ADDRESS, COUNT, WRITES) ((void)0)
#endif

// c[i * c_row + j] += a[i * a_row + p * a_k] * b[p * b_k + j] for i < ROWS, j < COLUMNS and p < k;
// strides in elements.
#define UK_MMA(NAME, ROWS, COLUMNS, FACTOR, SUM)                                                   \
    static void NAME(size_t k, const FACTOR *a, ptrdiff_t a_row, ptrdiff_t a_k, const FACTOR *b,   \
                     ptrdiff_t b_k, SUM *c, ptrdiff_t c_row)                                       \
    {                                                                                              \
        SUM sums[ROWS][COLUMNS];                                                                   \
        const FACTOR *first_a = a, *first_b = b;                                                   \
        (void)first_a, (void)first_b;                                                              \
        for (int i = 0; i < ROWS; i++)                                                             \
            UK_TELL(c, c + i * c_row, COLUMNS, 0);                                                 \
        for (int i = 0; i < ROWS; i++)                                                             \
            for (int j = 0; j < COLUMNS; j++)                                                      \
                sums[i][j] = c[i * c_row + j];                                                     \
        for (size_t p = 0; p < k; p++, a += a_k, b += b_k) {                                       \
            UK_TELL(first_b, b, COLUMNS, 0);                                                       \
            for (int i = 0; i < ROWS; i++) {                                                       \
                UK_TELL(first_a, a + i * a_row, 1, 0);                                             \
                for (int j = 0; j < COLUMNS; j++)                                                  \
                    sums[i][j] += (SUM)a[i * a_row] * (SUM)b[j];                                   \
            }                                                                                      \
        }                                                                                          \
        for (int i = 0; i < ROWS; i++) {                                                           \
            UK_TELL(c, c + i * c_row, COLUMNS, 1);                                                 \
            for (int j = 0; j < COLUMNS; j++)                                                      \
                c[i * c_row + j] = sums[i][j];                                                     \
        }                                                                                          \
    }

#endif
