/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of string.h, a word at a time if both sides are aligned. */
#include <stdint.h>
#include <string.h>

static int are_aligned(const void *a, const void *b, size_t n)
{
    return (((uintptr_t)a | (uintptr_t)b | n) & 3) == 0;
}

void *memcpy(void *to, const void *from, size_t n)
{
    if (are_aligned(to, from, n)) {
        uint32_t *target = to;
        const uint32_t *source = from;
        for (const uint32_t *end = source + n / 4; source != end;)
            *target++ = *source++;
    } else {
        uint8_t *target = to;
        const uint8_t *source = from;
        for (const uint8_t *end = source + n; source != end;)
            *target++ = *source++;
    }
    return to;
}

void *memmove(void *to, const void *from, size_t n)
{
    if ((uintptr_t)to - (uintptr_t)from >= n)
        return memcpy(to, from, n);
    for (size_t i = n; i-- > 0;)
        ((uint8_t *)to)[i] = ((const uint8_t *)from)[i];
    return to;
}

void *memset(void *to, int byte, size_t n)
{
    if (are_aligned(to, to, n)) {
        uint32_t word = (uint8_t)byte;
        word |= word << 8;
        word |= word << 16;
        for (uint32_t *target = to, *end = target + n / 4; target != end;)
            *target++ = word;
    } else {
        for (uint8_t *target = to, *end = target + n; target != end;)
            *target++ = (uint8_t)byte;
    }
    return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
    const uint8_t *x = a, *y = b;
    for (size_t i = 0; i < n; i++)
        if (x[i] != y[i])
            return x[i] - y[i];
    return 0;
}

void *memchr(const void *in, int byte, size_t n)
{
    const uint8_t *bytes = in;
    for (size_t i = 0; i < n; i++)
        if (bytes[i] == (uint8_t)byte)
            return (void *)(bytes + i);
    return NULL;
}

size_t strlen(const char *text)
{
    size_t n = 0;
    while (text[n])
        n++;
    return n;
}

size_t strnlen(const char *text, size_t most)
{
    size_t n = 0;
    while (n < most && text[n])
        n++;
    return n;
}

int strncmp(const char *a, const char *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (a[i] != b[i] || !a[i])
            return (uint8_t)a[i] - (uint8_t)b[i];
    }
    return 0;
}

int strcmp(const char *a, const char *b)
{
    return strncmp(a, b, SIZE_MAX);
}

char *strncpy(char *to, const char *from, size_t n)
{
    size_t i = 0;
    for (; i < n && from[i]; i++)
        to[i] = from[i];
    for (; i < n; i++)
        to[i] = '\0';
    return to;
}

char *strcpy(char *to, const char *from)
{
    return memcpy(to, from, strlen(from) + 1);
}

char *strcat(char *to, const char *from)
{
    strcpy(to + strlen(to), from);
    return to;
}

char *strncat(char *to, const char *from, size_t n)
{
    size_t length = strlen(to), more = strnlen(from, n);
    memcpy(to + length, from, more);
    to[length + more] = '\0';
    return to;
}

char *strchr(const char *in, int character)
{
    for (;; in++) {
        if (*in == (char)character)
            return (char *)in;
        if (!*in)
            return NULL;
    }
}

char *strrchr(const char *in, int character)
{
    const char *last = NULL;
    for (;; in++) {
        if (*in == (char)character)
            last = in;
        if (!*in)
            return (char *)last;
    }
}

char *strstr(const char *in, const char *text)
{
    size_t n = strlen(text);
    for (; *in; in++)
        if (!strncmp(in, text, n))
            return (char *)in;
    return n ? NULL : (char *)in;
}

size_t strspn(const char *text, const char *characters)
{
    size_t n = 0;
    while (text[n] && strchr(characters, text[n]))
        n++;
    return n;
}

size_t strcspn(const char *text, const char *characters)
{
    size_t n = 0;
    while (text[n] && !strchr(characters, text[n]))
        n++;
    return n;
}

char *strpbrk(const char *in, const char *characters)
{
    in += strcspn(in, characters);
    return *in ? (char *)in : NULL;
}

char *strtok_r(char *text, const char *separators, char **rest)
{
    char *first = text ? text : *rest;
    first += strspn(first, separators);
    char *end = first + strcspn(first, separators);
    *rest = *end ? end + 1 : end;
    *end = 0;
    return *first ? first : NULL;
}

char *stpcpy(char *to, const char *from)
{
    size_t n = strlen(from);
    memcpy(to, from, n + 1);
    return to + n;
}
