// SPDX-License-Identifier: Apache-2.0
// The functions of string.h in the run-time library of boards.
#pragma once

#include <stddef.h>

void *memcpy(void *to, const void *from, size_t count);
void *memset(void *to, int value, size_t count);
