/* SPDX-License-Identifier: Apache-2.0 */
/* stdlib.h, stdio.h and the other parts of the C library that DPU programs can use. */
#include <ctype.h>
#include <defs.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int errno;

void abort(void)
{
    halt();
}

void exit(int status)
{
    (void)status;
    (void)XTC_SERVICE(XTC_END, 0, 0, 0);
    __builtin_unreachable();
}

int abs(int value)
{
    return value < 0 ? -value : value;
}

long labs(long value)
{
    return value < 0 ? -value : value;
}

long long llabs(long long value)
{
    return value < 0 ? -value : value;
}

static int digit_of(char character)
{
    return isdigit(character) ? character - '0' : isalpha(character) ? (character | 32) - 'a' + 10 : 99;
}

long strtol(const char *text, char **end, int base)
{
    const char *at = text;
    while (isspace(*at))
        at++;
    int negative = *at == '-';
    if (*at == '-' || *at == '+')
        at++;
    if ((base == 0 || base == 16) && at[0] == '0' && (at[1] | 32) == 'x') {
        at += 2;
        base = 16;
    }
    if (base == 0)
        base = *at == '0' ? 8 : 10;
    unsigned long value = 0;
    for (; digit_of(*at) < base; at++)
        value = value * (unsigned long)base + (unsigned long)digit_of(*at);
    if (end)
        *end = (char *)at;
    return negative ? -(long)value : (long)value;
}

int atoi(const char *text)
{
    return (int)strtol(text, NULL, 10);
}

long atol(const char *text)
{
    return strtol(text, NULL, 10);
}

/* From POSIX, for tests that need pseudo-random numbers. */
static unsigned int random_state = 1;

void srand(unsigned int seed)
{
    random_state = seed;
}

int rand(void)
{
    random_state = random_state * 1103515245u + 12345u;
    return (int)(random_state >> 1);
}

div_t div(int numerator, int denominator)
{
    return (div_t){numerator / denominator, numerator % denominator};
}

int vprintf(const char *format, va_list arguments)
{
    return (int)XTC_SERVICE(XTC_PRINT, (uintptr_t)format, (uintptr_t)arguments, 0);
}

int printf(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int written = vprintf(format, arguments);
    va_end(arguments);
    return written;
}

int puts(const char *text)
{
    return printf("%s\n", text);
}

int putchar(int character)
{
    printf("%c", character);
    return character;
}

unsigned int check_stack(void)
{
    return XTC_SERVICE(XTC_STACK_LEFT, 0, 0, 0);
}
