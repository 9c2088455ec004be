// SPDX-License-Identifier: Apache-2.0
#include "upmem_elf.h"

#include <elf.h>
#include <string.h>

static bool is_inside(const upmem_elf *elf, uint64_t offset, uint64_t nbytes)
{
    return offset + nbytes <= elf->nbytes;
}

static bool read_section(const upmem_elf *elf, uint32_t index, Elf32_Shdr *header)
{
    if (index >= elf->section_count)
        return false;
    memcpy(header, elf->bytes + elf->sections + index * sizeof *header, sizeof *header);
    return true;
}

// A string of a string section; "" if it is outside.
static const char *text_of(const upmem_elf *elf, uint32_t start, uint32_t nbytes, uint32_t offset)
{
    const char *text = (const char *)elf->bytes + start;
    if (offset >= nbytes || !memchr(text + offset, 0, nbytes - offset))
        return "";
    return text + offset;
}

static const char *find_symbols(upmem_elf *elf)
{
    for (uint32_t i = 0; i < elf->section_count; i++) {
        Elf32_Shdr table, strings;
        read_section(elf, i, &table);
        if (table.sh_type != SHT_SYMTAB)
            continue;
        if (!read_section(elf, table.sh_link, &strings) ||
            !is_inside(elf, table.sh_offset, table.sh_size) ||
            !is_inside(elf, strings.sh_offset, strings.sh_size))
            return "its table of symbols is cut off";
        elf->symbols = table.sh_offset;
        elf->symbol_count = table.sh_size / sizeof(Elf32_Sym);
        elf->strings = strings.sh_offset;
        elf->string_bytes = strings.sh_size;
        return NULL;
    }
    return "it has no table of symbols";
}

const char *upmem_elf_open(upmem_elf *elf, const void *bytes, uint32_t nbytes)
{
    Elf32_Ehdr header;
    memset(elf, 0, sizeof *elf);
    elf->bytes = bytes;
    elf->nbytes = nbytes;
    if (nbytes < sizeof header)
        return "it is too short for an ELF file";
    memcpy(&header, bytes, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_ident[EI_CLASS] != ELFCLASS32)
        return "it is not a 32-bit ELF file";
    if (header.e_machine != EM_RISCV)
        return "it is not for the simulator, which runs code of RISC-V";
    if (header.e_shentsize != sizeof(Elf32_Shdr) ||
        !is_inside(elf, header.e_shoff, (uint64_t)header.e_shnum * sizeof(Elf32_Shdr)))
        return "its table of sections is cut off";
    elf->sections = header.e_shoff;
    elf->section_count = header.e_shnum;
    elf->names = header.e_shstrndx;
    return find_symbols(elf);
}

bool upmem_elf_section(const upmem_elf *elf, uint32_t index, upmem_section *section)
{
    Elf32_Shdr header, names;
    if (!read_section(elf, index, &header) || !read_section(elf, elf->names, &names))
        return false;
    if (header.sh_type != SHT_NOBITS && !is_inside(elf, header.sh_offset, header.sh_size))
        return false;
    *section = (upmem_section){header.sh_type, header.sh_flags, header.sh_addr, header.sh_offset,
                               header.sh_size,
                               text_of(elf, names.sh_offset, names.sh_size, header.sh_name)};
    return true;
}

bool upmem_elf_find_section(const upmem_elf *elf, const char *name, upmem_section *section)
{
    for (uint32_t i = 0; i < elf->section_count; i++)
        if (upmem_elf_section(elf, i, section) && !strcmp(section->name, name))
            return true;
    return false;
}

bool upmem_elf_find_symbol(const upmem_elf *elf, const char *name, upmem_symbol *symbol)
{
    for (uint32_t i = 0; i < elf->symbol_count; i++) {
        Elf32_Sym entry;
        memcpy(&entry, elf->bytes + elf->symbols + i * sizeof entry, sizeof entry);
        if (entry.st_shndx == SHN_UNDEF ||
            strcmp(text_of(elf, elf->strings, elf->string_bytes, entry.st_name), name))
            continue;
        *symbol = (upmem_symbol){entry.st_value, entry.st_size};
        return true;
    }
    return false;
}

bool upmem_section_is_loaded(const upmem_section *section)
{
    return section->type == SHT_PROGBITS && section->flags & SHF_ALLOC && section->nbytes;
}

bool upmem_section_is_zero(const upmem_section *section)
{
    return section->type == SHT_NOBITS && section->flags & SHF_ALLOC && section->nbytes &&
           (!strcmp(section->name, ".data") || !strcmp(section->name, ".mram"));
}

bool upmem_section_is_code(const upmem_section *section)
{
    return upmem_section_is_loaded(section) && section->flags & SHF_EXECINSTR;
}
