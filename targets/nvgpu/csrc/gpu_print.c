// SPDX-License-Identifier: Apache-2.0
// The output of threads, which the host receives when the launch ends.
#include <stdio.h>
#include <string.h>

#include "gpu_sim.h"
#include "sim_device.h"

#define LONGEST_FIELD 64

static char text[SIM_OUTPUT_TEXT]; // of the current call
static uint32_t used;

static void require_room(uint64_t nbytes)
{
    if (nbytes >= sizeof text - used)
        sim_fault(0, "cuda_print of more than %u bytes at once", SIM_OUTPUT_TEXT - 1);
}

static void append(const char *plain, size_t nbytes)
{
    require_room(nbytes);
    memcpy(text + used, plain, nbytes);
    used += (uint32_t)nbytes;
}

// Append the number at `argument` in the format `field`, which ends with its conversion character.
static void append_number(const char *field, const char *argument)
{
    double number;
    long long integer;
    memcpy(&number, argument, sizeof number);
    memcpy(&integer, argument, sizeof integer);
    int length;
    if (strchr("eEfFgG", field[strlen(field) - 1]))
        length = snprintf(text + used, sizeof text - used, field, number);
    else
        length = snprintf(text + used, sizeof text - used, field, integer);
    if (length < 0)
        sim_fault(0, "cuda_print with the format %s, which cannot be printed", field);
    require_room((uint64_t)length);
    used += (uint32_t)length;
}

int cuda_print(const char *format, const void *given)
{
    gpu_require_thread("cuda_print");
    const char *arguments = given;
    int count = 0;
    used = 0;
    while (*format) {
        size_t plain = strcspn(format, "%");
        append(format, plain);
        format += plain;
        if (!*format)
            break;
        if (format[1] == '%') {
            append("%", 1);
            format += 2;
            continue;
        }
        size_t length = strcspn(format, "diouxXeEfFgGc") + 1;
        char field[LONGEST_FIELD];
        if (length >= sizeof field || !format[length - 1])
            sim_fault(0, "cuda_print with the unknown format %s", format);
        memcpy(field, format, length);
        field[length] = 0;
        append_number(field, arguments + 8 * count++);
        format += length;
    }
    sim_output_add(gpu_output(), gpu_block_number(), text, used);
    return count;
}
