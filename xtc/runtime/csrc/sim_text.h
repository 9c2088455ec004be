// SPDX-License-Identifier: Apache-2.0
// Text formatting without the C library, for signal handlers.
#ifndef SIM_TEXT_H
#define SIM_TEXT_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    char *bytes; // always terminated by '\0'
    size_t nbytes, used;
} sim_text;

static inline sim_text sim_text_in(char *bytes, size_t nbytes)
{
    bytes[0] = '\0';
    return (sim_text){bytes, nbytes, 0};
}

static inline void sim_text_append(sim_text *text, const char *more)
{
    while (*more && text->used + 1 < text->nbytes)
        text->bytes[text->used++] = *more++;
    text->bytes[text->used] = '\0';
}

static inline void sim_text_append_number(sim_text *text, uint64_t number, unsigned base)
{
    char digits[24], *first = digits + sizeof digits - 1;
    *first = '\0';
    do {
        *--first = "0123456789abcdef"[number % base];
        number /= base;
    } while (number);
    if (base == 16)
        sim_text_append(text, "0x");
    sim_text_append(text, first);
}

#endif
