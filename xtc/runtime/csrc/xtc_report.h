// SPDX-License-Identifier: Apache-2.0
// What is too long for a message: a file has the whole of it.
#ifndef XTC_REPORT_H
#define XTC_REPORT_H

#include <stdint.h>

#define XTC_REPORT_PATH 256

// Write `report` to a new file among the temporary files, which stays there, and its name to `path`;
// "" where that is not possible.
void xtc_report_write(const char *report, char path[XTC_REPORT_PATH]);

#endif
