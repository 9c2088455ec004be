/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DPU_STDLIB_H
#define DPU_STDLIB_H

#include <attributes.h>
#include <stddef.h>

#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1

void abort(void) __attribute__((noreturn));
void exit(int status) __attribute__((noreturn));
int abs(int value);
long long labs(long long value);
long long llabs(long long value);
int atoi(const char *text);
long long atol(const char *text);
long long strtol(const char *text, char **end, int base);
void srand(unsigned int seed);
int rand(void);
#define RAND_MAX 0x7fffffff
typedef struct {
    int quot, rem;
} div_t;
div_t div(int numerator, int denominator);

#endif
