// SPDX-License-Identifier: Apache-2.0
// Device code of the null device: shared libraries in this process.
#ifndef NULL_CODE_H
#define NULL_CODE_H

#include <stdbool.h>

#include "xtc_driver.h"

// A kernel, which runs once per block of the grid. It takes its arguments, each in the low bytes of
// 64 bits, and the block's coordinates in x, y and z.
typedef void null_kernel(const uint64_t *arguments, const uint32_t *block);

typedef struct null_module null_module; // loaded modules form a list

int32_t null_code_load(null_module **all, const void *image, uint64_t nbytes, xtc_module *module);
int32_t null_code_unload(null_module **all, xtc_module module);
int32_t null_code_function(null_module **all, xtc_module module, const char *name,
                           xtc_function *function);
int32_t null_code_data(null_module **all, xtc_module module, const char *name,
                       xtc_address *address, uint64_t *nbytes);
// Whether these bytes belong to a requested data symbol.
bool null_code_has_data(const null_module *all, xtc_address address, uint64_t nbytes);

#endif
