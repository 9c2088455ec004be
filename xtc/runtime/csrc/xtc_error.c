// SPDX-License-Identifier: Apache-2.0
#include "xtc_error.h"

#include <stdarg.h>
#include <stdio.h>

#include "xtc_report.h"

static _Thread_local char message[XTC_MESSAGE_BYTES];

int32_t xtc_fail(int32_t status, const char *format, ...)
{
    char text[XTC_MESSAGE_BYTES]; // the arguments may be the old message
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(message, sizeof message, "%s", text);
    return status;
}

int32_t xtc_fail_outside(uint64_t address, uint64_t nbytes)
{
    unsigned long long at = address, count = nbytes;
    if (count == 1)
        return xtc_fail(XTC_MEMORY, "0x%llx is not inside an allocation", at);
    return xtc_fail(XTC_MEMORY, "%llu bytes at 0x%llx are not inside an allocation", count, at);
}

int32_t xtc_fail_with_report(int32_t status, const char *report, const char *summary)
{
    char path[XTC_REPORT_PATH];
    xtc_report_write(report, path);
    if (!path[0])
        return xtc_fail(status, "%s", summary);
    return xtc_fail(status, "%.600s\nthe full report: %s", summary, path);
}

int32_t xtc_fail_launch(int32_t status, const xtc_launch *launch)
{
    if (!status || status == XTC_LOST || !launch->label)
        return status;
    return xtc_fail(status, "%s\nthe kernel was launched for operator '%.200s'", message,
                    launch->label);
}

const char *xtc_message(void)
{
    return message;
}

int32_t xtc_fail_with(int32_t status, const char *text)
{
    return xtc_fail(status, "%s", text);
}
