// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "null_code.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "xtc_error.h"

static int write_all(int file, const char *bytes, uint64_t nbytes)
{
    while (nbytes) {
        ssize_t written = write(file, bytes, nbytes);
        if (written <= 0)
            return -1;
        bytes += written;
        nbytes -= (uint64_t)written;
    }
    return 0;
}

// The file stays open: libraries are known by their paths, and another image must not get this one's.
typedef struct {
    void *library;
    int file;
} loaded;

static int32_t open_library(loaded *code)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", code->file);
    code->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return code->library ? XTC_OK : xtc_fail(XTC_IMAGE, "the image is no code\n%s", dlerror());
}

static void discard(loaded *code)
{
    if (code->library)
        dlclose(code->library);
    if (code->file >= 0)
        close(code->file);
    free(code);
}

int32_t null_code_load(const void *image, uint64_t nbytes, xtc_module *module)
{
    loaded *code = calloc(1, sizeof *code);
    if (!code)
        return xtc_fail(XTC_MEMORY, "no memory for the image");
    code->file = memfd_create("null-image", MFD_CLOEXEC);
    int32_t status = code->file < 0 || write_all(code->file, image, nbytes)
                         ? xtc_fail(XTC_MEMORY, "no memory for the image")
                         : open_library(code);
    if (status)
        discard(code);
    else
        *module = (uintptr_t)code;
    return status;
}

void null_code_unload(xtc_module module)
{
    discard((loaded *)(uintptr_t)module);
}

int32_t null_code_symbol(xtc_module module, const char *name, xtc_function *function)
{
    void *found = dlsym(((loaded *)(uintptr_t)module)->library, name);
    *function = (uintptr_t)found;
    return found ? XTC_OK : xtc_fail(XTC_LAUNCH, "the image has no function '%s'", name);
}
