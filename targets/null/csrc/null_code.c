// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "null_code.h"

#include <dlfcn.h>
#include <stdio.h>
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

int32_t null_code_load(const void *image, uint64_t nbytes, xtc_module *module)
{
    char path[64];
    int file = memfd_create("null-image", MFD_CLOEXEC);
    if (file < 0 || write_all(file, image, nbytes)) {
        if (file >= 0)
            close(file);
        return xtc_fail(XTC_MEMORY, "no memory for the image");
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const char *reason = library ? NULL : dlerror();
    int32_t status = library ? XTC_OK : xtc_fail(XTC_IMAGE, "the image is no code\n%s", reason);
    close(file);
    *module = (uintptr_t)library;
    return status;
}

void null_code_unload(xtc_module module)
{
    dlclose((void *)(uintptr_t)module);
}

int32_t null_code_symbol(xtc_module module, const char *name, xtc_function *function)
{
    void *found = dlsym((void *)(uintptr_t)module, name);
    *function = (uintptr_t)found;
    return found ? XTC_OK : xtc_fail(XTC_LAUNCH, "the image has no function '%s'", name);
}
