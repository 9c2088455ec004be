// SPDX-License-Identifier: Apache-2.0
// Maps instructions to lines of source files.
#ifndef UPMEM_LINES_H
#define UPMEM_LINES_H

#include "upmem_elf.h"

typedef struct {
    const char *file; // the last part of its path; NULL if unknown
    uint32_t line;
} upmem_line;

// A table of `count` instructions from `address` on, from the file's .debug_line (DWARF 4, section
// 6.2). The names point into the ELF file's bytes.
void upmem_lines_read(const upmem_elf *elf, uint32_t address, upmem_line *lines, uint32_t count);

#endif
