// SPDX-License-Identifier: Apache-2.0
#include "upmem_lines.h"

#include <string.h>

#define MAX_FILES 256

typedef struct {
    const uint8_t *at, *end;
} reader;

typedef struct {
    uint8_t shortest, range, base_opcode;
    int8_t base;
    uint8_t lengths[256];
    const char *files[MAX_FILES];
    uint32_t file_count;
} program_header;

typedef struct {
    uint32_t address, file, line;
    bool has_row;
} row;

typedef struct {
    uint32_t address; // of the table's first instruction
    upmem_line *lines;
    uint32_t count;
} table;

static uint64_t number(reader *in, size_t nbytes)
{
    uint64_t value = 0;
    if ((size_t)(in->end - in->at) < nbytes) {
        in->at = in->end;
        return 0;
    }
    memcpy(&value, in->at, nbytes);
    in->at += nbytes;
    return value;
}

static uint64_t leb(reader *in, bool is_signed)
{
    uint64_t value = 0;
    int shift = 0;
    uint8_t byte;
    do {
        byte = (uint8_t)number(in, 1);
        if (shift < 64)
            value |= (uint64_t)(byte & 127) << shift;
        shift += 7;
    } while (byte & 128 && in->at < in->end);
    if (is_signed && byte & 64 && shift < 64)
        value |= ~0ull << shift;
    return value;
}

static const char *text(reader *in)
{
    const char *start = (const char *)in->at;
    const uint8_t *zero = memchr(in->at, 0, (size_t)(in->end - in->at));
    in->at = zero ? zero + 1 : in->end;
    return zero ? start : "";
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void read_header(reader *in, program_header *header)
{
    memset(header, 0, sizeof *header);
    header->shortest = (uint8_t)number(in, 1);
    number(in, 2); // operations per instruction, and the default of is_stmt
    header->base = (int8_t)number(in, 1);
    header->range = (uint8_t)number(in, 1);
    header->base_opcode = (uint8_t)number(in, 1);
    for (uint32_t i = 1; i < header->base_opcode; i++)
        header->lengths[i] = (uint8_t)number(in, 1);
    while (in->at < in->end && *in->at)
        text(in); // folders
    number(in, 1);
    while (in->at < in->end && *in->at) {
        const char *name = last_part(text(in));
        for (int i = 0; i < 3; i++)
            leb(in, false);
        if (header->file_count + 1 < MAX_FILES)
            header->files[++header->file_count] = name;
    }
}

// The instructions from the last row to `address` belong to that row's line.
static void advance(row *state, uint32_t address, const program_header *header, const table *out)
{
    const char *file = state->file <= header->file_count ? header->files[state->file] : NULL;
    for (uint32_t at = state->address; state->has_row && at < address; at += 4) {
        uint32_t index = (at - out->address) / 4;
        if (index < out->count)
            out->lines[index] = (upmem_line){file, state->line};
    }
    state->address = address;
}

static void run_extended(reader *in, row *state, const program_header *header, const table *out)
{
    uint64_t nbytes = leb(in, false);
    const uint8_t *next = in->at + (nbytes < (uint64_t)(in->end - in->at) ? nbytes
                                                                         : (uint64_t)(in->end - in->at));
    switch (number(in, 1)) {
    case 1: // the end of a sequence
        *state = (row){.file = 1, .line = 1};
        break;
    case 2:
        advance(state, (uint32_t)number(in, nbytes - 1 < 8 ? nbytes - 1 : 8), header, out);
        break;
    default:
        break;
    }
    in->at = next;
}

static void run_standard(reader *in, uint8_t opcode, row *state, const program_header *header,
                         const table *out)
{
    switch (opcode) {
    case 1: state->has_row = true; break;
    case 2: advance(state, state->address + (uint32_t)leb(in, false) * header->shortest, header, out); break;
    case 3: state->line += (uint32_t)leb(in, true); break;
    case 4: state->file = (uint32_t)leb(in, false); break;
    case 8: {
        uint32_t by = (255u - header->base_opcode) / header->range * header->shortest;
        advance(state, state->address + by, header, out);
        break;
    }
    case 9: advance(state, state->address + (uint32_t)number(in, 2), header, out); break;
    default:
        for (uint32_t i = 0; i < header->lengths[opcode]; i++)
            leb(in, false);
    }
}

static void run_program(reader *in, const program_header *header, const table *out)
{
    row state = {.file = 1, .line = 1};
    while (in->at < in->end) {
        uint8_t opcode = (uint8_t)number(in, 1);
        if (opcode >= header->base_opcode && header->range) {
            uint32_t adjusted = opcode - header->base_opcode;
            uint32_t by = adjusted / header->range * header->shortest;
            advance(&state, state.address + by, header, out);
            state.line += (uint32_t)(header->base + (int32_t)(adjusted % header->range));
            state.has_row = true;
        } else if (opcode == 0) {
            run_extended(in, &state, header, out);
        } else {
            run_standard(in, opcode, &state, header, out);
        }
    }
}

static void run_unit(reader unit, const table *out)
{
    program_header header;
    uint64_t version = number(&unit, 2);
    uint64_t nbytes = number(&unit, 4);
    if (version != 4 || nbytes > (uint64_t)(unit.end - unit.at))
        return;
    reader instructions = {unit.at + nbytes, unit.end};
    read_header(&unit, &header);
    run_program(&instructions, &header, out);
}

void upmem_lines_read(const upmem_elf *elf, uint32_t address, upmem_line *lines, uint32_t count)
{
    upmem_section section;
    table out = {address, lines, count};
    memset(lines, 0, count * sizeof *lines);
    if (!upmem_elf_find_section(elf, ".debug_line", &section))
        return;
    reader in = {elf->bytes + section.offset, elf->bytes + section.offset + section.nbytes};
    while (in.end - in.at > 4) {
        uint64_t nbytes = number(&in, 4);
        if (nbytes > (uint64_t)(in.end - in.at))
            return;
        run_unit((reader){in.at, in.at + nbytes}, &out);
        in.at += nbytes;
    }
}
