// SPDX-License-Identifier: Apache-2.0
// Reports that are too long for a message, written to files.
#ifndef XTC_REPORT_H
#define XTC_REPORT_H

#include <stdint.h>

#define XTC_REPORT_PATH 256

// Write `report` to a new temporary file, which is kept, and its name to `path`; "" on failure.
void xtc_report_write(const char *report, char path[XTC_REPORT_PATH]);

#endif
