/* SPDX-License-Identifier: Apache-2.0 */
/* Output of text, which the host reads with dpu_log_read. */
#ifndef DPU_STDIO_H
#define DPU_STDIO_H

#include <attributes.h>
#include <stdarg.h>
#include <stddef.h>

#define STDOUT_BUFFER_INIT(size)                                                                   \
    const unsigned int __attribute__((used, retain)) __xtc_stdout_bytes = (size);

int printf(const char *format, ...);
int vprintf(const char *format, va_list arguments);
int puts(const char *text);
int putchar(int character);

#endif
