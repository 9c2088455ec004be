// SPDX-License-Identifier: Apache-2.0
// Which line of a source file an instruction is from.
#ifndef UPMEM_LINES_H
#define UPMEM_LINES_H

#include "upmem_elf.h"

typedef struct {
    const char *file; // the last part of its path; NULL where it is not known
    uint32_t line;
} upmem_line;

// A table by instruction, `count` of them from `address` on, from the file's .debug_line (DWARF 4,
// section 6.2). The names stay in the ELF file's bytes.
void upmem_lines_read(const upmem_elf *elf, uint32_t address, upmem_line *lines, uint32_t count);

#endif
