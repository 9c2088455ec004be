// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "lib.h"

static const char *text_of(uint32_t code)
{
    static const char *const texts[] = {
#define TEXT(name, text) [DPU_##name] = text,
        XTC_DPU_ERRORS(TEXT)
#undef TEXT
    };
    return code < sizeof texts / sizeof *texts ? texts[code] : "unknown error";
}

char *dpu_error_to_string(dpu_error_t status)
{
    char text[256];
    uint32_t code = (uint32_t)status, kind = code >> 16 & 0x7fff;
    if (code & DPU_ERR_ASYNC_JOBS)
        snprintf(text, sizeof text, "asynchronous %s: %s",
                 kind < LIB_KINDS ? lib_kind_name((enum lib_kind)kind) : "job",
                 text_of(code & 0xffff));
    else
        snprintf(text, sizeof text, "%s", text_of(code));
    return strdup(text);
}
