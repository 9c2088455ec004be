// SPDX-License-Identifier: Apache-2.0
#include "xtc_copies.h"

void xtc_copies_count(xtc_copies *counts, xtc_kind kind, uint64_t nbytes)
{
    int direction = kind == XTC_COPY_TO ? 0 : kind == XTC_COPY_FROM ? 1 : 2;
    counts->bytes[direction] += nbytes;
    counts->copies[direction]++;
}

uint64_t *xtc_copies_values(const xtc_copies *counts, uint64_t *values)
{
    for (int direction = 0; direction < 3; direction++)
        *values++ = counts->bytes[direction];
    for (int direction = 0; direction < 3; direction++)
        *values++ = counts->copies[direction];
    return values;
}
