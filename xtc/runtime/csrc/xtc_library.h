// SPDX-License-Identifier: Apache-2.0
// Device code as a shared library that this process loads from memory.
#ifndef XTC_LIBRARY_H
#define XTC_LIBRARY_H

#include <stdint.h>

// The file stays open: dlopen identifies the library by a name with its descriptor.
typedef struct {
    void *handle;
    int file;
} xtc_library;

// These return a status and set this thread's message.
int32_t xtc_library_open(xtc_library *library, const void *image, uint64_t nbytes);
// A function or data that the library defines itself.
int32_t xtc_library_function(const xtc_library *library, const char *name, uint64_t *address);
int32_t xtc_library_data(const xtc_library *library, const char *name, uint64_t *address,
                         uint64_t *nbytes);
void xtc_library_close(xtc_library *library);

#endif
