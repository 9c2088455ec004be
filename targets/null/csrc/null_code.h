// SPDX-License-Identifier: Apache-2.0
// Device code of the null device: shared libraries in this process.
#ifndef NULL_CODE_H
#define NULL_CODE_H

#include "xtc_driver.h"

// A kernel, which runs once for each block of the grid: its arguments, each in the low bytes of 64
// bits, and the block's place in x, y and z.
typedef void null_kernel(const uint64_t *arguments, const uint32_t *block);

int32_t null_code_load(const void *image, uint64_t nbytes, xtc_module *module);
void null_code_unload(xtc_module module);
int32_t null_code_symbol(xtc_module module, const char *name, xtc_function *function);

#endif
