// SPDX-License-Identifier: Apache-2.0
// What threads print, on the standard output of the process that launched them.
#include <stdio.h>
#include <string.h>

#include "gpu_sim.h"
#include "sim_device.h"

#define LONGEST_FIELD 64

// Print the number behind `argument` as `field` says, which ends with its conversion.
static void print_number(const char *field, const char *argument)
{
    double number;
    long long integer;
    memcpy(&number, argument, sizeof number);
    memcpy(&integer, argument, sizeof integer);
    if (strchr("eEfFgG", field[strlen(field) - 1]))
        printf(field, number);
    else
        printf(field, integer);
}

int cuda_print(const char *format, const void *given)
{
    gpu_require_thread("cuda_print");
    const char *arguments = given;
    int count = 0;
    while (*format) {
        size_t plain = strcspn(format, "%");
        fwrite(format, 1, plain, stdout);
        format += plain;
        if (!*format)
            break;
        if (format[1] == '%') {
            putchar('%');
            format += 2;
            continue;
        }
        size_t length = strcspn(format, "diouxXeEfFgGc") + 1;
        char field[LONGEST_FIELD];
        if (length >= sizeof field || !format[length - 1])
            sim_fault(0, "cuda_print of the unknown format %s", format);
        memcpy(field, format, length);
        field[length] = 0;
        print_number(field, arguments + 8 * count++);
        format += length;
    }
    fflush(stdout);
    return count;
}
