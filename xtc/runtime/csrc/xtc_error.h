// SPDX-License-Identifier: Apache-2.0
// The cause of a thread's last failure.
#ifndef XTC_ERROR_H
#define XTC_ERROR_H

#include "xtc_driver.h"

// Set this thread's message and return `status`.
int32_t xtc_fail(int32_t status, const char *format, ...) __attribute__((format(printf, 2, 3)));

// The same for bytes that are not inside one allocation; returns XTC_MEMORY.
int32_t xtc_fail_outside(uint64_t address, uint64_t nbytes);

// The same with a longer report, which is written to a file.
int32_t xtc_fail_with_report(int32_t status, const char *report, const char *summary);

// After a failed launch, add its label to this thread's message; returns `status`.
int32_t xtc_fail_launch(int32_t status, const xtc_launch *launch);

// The table's functions of these names.
const char *xtc_message(void);
int32_t xtc_fail_with(int32_t status, const char *text);

#endif
