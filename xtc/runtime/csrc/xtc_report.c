// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "xtc_report.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int write_all(int file, const char *text, size_t nbytes)
{
    while (nbytes) {
        ssize_t written = write(file, text, nbytes);
        if (written <= 0)
            return -1;
        text += written;
        nbytes -= (size_t)written;
    }
    return 0;
}

void xtc_report_write(const char *report, char path[XTC_REPORT_PATH])
{
    const char *folder = getenv("TMPDIR");
    int length = snprintf(path, XTC_REPORT_PATH, "%s/xtc-report-XXXXXX.txt",
                          folder && *folder ? folder : "/tmp");
    int file = length < XTC_REPORT_PATH ? mkostemps(path, 4, O_CLOEXEC) : -1;
    if (file < 0) {
        path[0] = '\0';
        return;
    }
    if (write_all(file, report, strlen(report))) {
        unlink(path);
        path[0] = '\0';
    }
    close(file);
}
