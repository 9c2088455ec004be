// SPDX-License-Identifier: Apache-2.0
// Reads DPU programs, which are ELF files for 32-bit RISC-V.
#ifndef UPMEM_ELF_H
#define UPMEM_ELF_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    const uint8_t *bytes; // contents of the file, owned by the reader
    uint32_t nbytes;
    uint32_t sections, section_count, names; // the last: index of the section with the names
    uint32_t symbols, symbol_count, strings, string_bytes;
} upmem_elf;

typedef struct {
    uint32_t type, flags, address, offset, nbytes;
    const char *name;
} upmem_section;

typedef struct {
    uint32_t address, nbytes;
} upmem_symbol;

// NULL, or an error message.
const char *upmem_elf_open(upmem_elf *elf, const void *bytes, uint32_t nbytes);
bool upmem_elf_section(const upmem_elf *elf, uint32_t index, upmem_section *section);
bool upmem_elf_find_section(const upmem_elf *elf, const char *name, upmem_section *section);
bool upmem_elf_find_symbol(const upmem_elf *elf, const char *name, upmem_symbol *symbol);
// Whether the section is loaded from the file.
bool upmem_section_is_loaded(const upmem_section *section);
// Whether the section is filled with zeros, which are not in the file.
bool upmem_section_is_zero(const upmem_section *section);
bool upmem_section_is_code(const upmem_section *section);

#endif
