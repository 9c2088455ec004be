/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

typedef struct {
    uint32_t rows, most_rows, most_entries, columns;
} arguments;

typedef struct {
    uint32_t column;
    float value;
} entry;
