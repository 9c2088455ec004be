// SPDX-License-Identifier: Apache-2.0
// printf of programs: the text is kept until the host reads it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "iss.h"

#define LOG_MOST (1u << 20) // most bytes per launch; the rest is dropped
#define SPEC 24

static void append(dpu *dpu, const char *text, size_t nbytes)
{
    if (dpu->log_used + nbytes > LOG_MOST)
        return;
    if (dpu->log_used + nbytes > dpu->log_capacity) {
        size_t capacity = (dpu->log_used + nbytes) * 2 + 256;
        char *larger = realloc(dpu->log, capacity);
        if (!larger)
            return;
        dpu->log = larger;
        dpu->log_capacity = capacity;
    }
    memcpy(dpu->log + dpu->log_used, text, nbytes);
    dpu->log_used += nbytes;
}

// The text at an address of WRAM or MRAM; NULL if it is not terminated.
static const char *text_at(dpu *dpu, uint32_t address)
{
    uint32_t end = dpu->profile->wram_bytes;
    if (address < end && memchr(dpu->wram + address, 0, end - address))
        return (const char *)dpu->wram + address;
    uint32_t offset = address - DPU_MRAM_BASE;
    if (offset < DPU_MRAM_BYTES && memchr(dpu->mram + offset, 0, DPU_MRAM_BYTES - offset))
        return (const char *)dpu->mram + offset;
    dpu_raise(dpu, DPU_MEMORY_FAULT, address);
    return NULL;
}

static uint64_t argument(dpu *dpu, uint32_t *next, uint32_t nbytes)
{
    uint64_t value = 0;
    *next = (*next + nbytes - 1) & ~(nbytes - 1);
    if (*next > dpu->profile->wram_bytes - nbytes)
        dpu_raise(dpu, DPU_MEMORY_FAULT, *next);
    else
        memcpy(&value, dpu->wram + *next, nbytes);
    *next += nbytes;
    return value;
}

// The flags between % and the conversion, with * replaced; `longs` counts the letters l, of which
// one means 64 bits.
static const char *read_spec(dpu *dpu, const char *from, uint32_t *next, char *spec, int *longs)
{
    size_t used = 0;
    spec[used++] = '%';
    *longs = 0;
    for (; *from && strchr("-+ #0123456789.*lhzjtq", *from); from++) {
        if (*from == '*') {
            int32_t width = (int32_t)argument(dpu, next, 4);
            used += (size_t)snprintf(spec + used, SPEC - used, "%d", (int)width);
        } else if (strchr("lhzjtq", *from)) {
            *longs += *from == 'l' || *from == 'j' || *from == 'q';
        } else {
            spec[used++] = *from;
        }
        if (used > SPEC - 8)
            return NULL;
    }
    spec[used] = '\0';
    return from;
}

static int format_integer(char *out, size_t size, char *spec, char conversion, uint64_t value,
                          bool is_wide)
{
    size_t used = strlen(spec);
    bool is_signed = conversion == 'd' || conversion == 'i';
    spec[used] = 'l';
    spec[used + 1] = 'l';
    spec[used + 2] = conversion;
    spec[used + 3] = '\0';
    if (is_signed && !is_wide)
        value = (uint64_t)(int64_t)(int32_t)value;
    return snprintf(out, size, spec, (unsigned long long)value);
}

static int format_other(dpu *dpu, char *out, size_t size, char *spec, char conversion,
                        uint32_t *next)
{
    size_t used = strlen(spec);
    spec[used] = conversion;
    spec[used + 1] = '\0';
    if (conversion == 'c')
        return snprintf(out, size, spec, (int)argument(dpu, next, 4));
    if (conversion == 's') {
        const char *text = text_at(dpu, (uint32_t)argument(dpu, next, 4));
        return text ? snprintf(out, size, spec, text) : 0;
    }
    uint64_t bits = argument(dpu, next, 8);
    double value;
    memcpy(&value, &bits, sizeof value);
    return snprintf(out, size, spec, value);
}

// Prints one conversion; returns the rest of the format, or NULL for an unknown conversion.
static const char *convert(dpu *dpu, const char *from, uint32_t *next)
{
    char spec[SPEC], out[1024];
    int longs, written;
    const char *at = read_spec(dpu, from, next, spec, &longs);
    if (!at || !*at || !strchr("diuxXocspeEfFgGaA%", *at))
        return NULL;
    if (*at == '%')
        written = snprintf(out, sizeof out, "%%");
    else if (*at == 'p')
        written = snprintf(out, sizeof out, "0x%x", (unsigned)argument(dpu, next, 4));
    else if (strchr("diuxXo", *at))
        written = format_integer(out, sizeof out, spec, *at,
                                 argument(dpu, next, longs ? 8 : 4), longs != 0);
    else
        written = format_other(dpu, out, sizeof out, spec, *at, next);
    if (written > 0)
        append(dpu, out, (size_t)written < sizeof out ? (size_t)written : sizeof out - 1);
    return at + 1;
}

uint32_t dpu_print(dpu *dpu, uint32_t format, uint32_t arguments)
{
    size_t before = dpu->log_used;
    const char *at = text_at(dpu, format);
    while (at && *at && !dpu->fault) {
        const char *percent = strchr(at, '%');
        size_t plain = percent ? (size_t)(percent - at) : strlen(at);
        append(dpu, at, plain);
        if (!percent)
            break;
        at = convert(dpu, percent + 1, &arguments);
        if (!at)
            dpu_raise(dpu, DPU_PRINT, format);
    }
    return (uint32_t)(dpu->log_used - before);
}
