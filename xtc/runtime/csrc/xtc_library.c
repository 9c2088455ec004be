// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "xtc_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "xtc_error.h"

static int file_of(const void *image, uint64_t nbytes)
{
    int file = memfd_create("device code", MFD_CLOEXEC);
    if (file < 0)
        return -1;
    for (uint64_t written = 0; written < nbytes;) {
        ssize_t more = write(file, (const char *)image + written, nbytes - written);
        if (more < 0 && errno != EINTR) {
            close(file);
            return -1;
        }
        written += more > 0 ? (uint64_t)more : 0;
    }
    return file;
}

int32_t xtc_library_open(xtc_library *library, const void *image, uint64_t nbytes)
{
    char path[64];
    library->file = file_of(image, nbytes);
    if (library->file < 0)
        return xtc_fail(XTC_IMAGE, "no memory for the image: %s", strerror(errno));
    snprintf(path, sizeof path, "/proc/self/fd/%d", library->file);
    library->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library->handle)
        return XTC_OK;
    close(library->file);
    return xtc_fail(XTC_IMAGE, "the image cannot be loaded\n%s", dlerror());
}

void xtc_library_close(xtc_library *library)
{
    dlclose(library->handle);
    close(library->file);
}

// Find a symbol that the library itself defines; dlsym also searches its dependences.
static const ElfW(Sym) *find(const xtc_library *library, const char *name, void **address)
{
    Dl_info information;
    const struct link_map *map;
    const ElfW(Sym) *symbol;
    *address = dlsym(library->handle, name);
    if (!*address || dlinfo(library->handle, RTLD_DI_LINKMAP, &map) ||
        !dladdr1(*address, &information, (void **)&symbol, RTLD_DL_SYMENT) || !symbol ||
        information.dli_fbase != (void *)map->l_addr)
        return NULL;
    return symbol;
}

int32_t xtc_library_function(const xtc_library *library, const char *name, uint64_t *address)
{
    void *found;
    const ElfW(Sym) *symbol = find(library, name, &found);
    if (!symbol || (symbol->st_info & 0xf) != STT_FUNC)
        return xtc_fail(XTC_LAUNCH, "the module has no function '%.400s'", name);
    *address = (uintptr_t)found;
    return XTC_OK;
}

int32_t xtc_library_data(const xtc_library *library, const char *name, uint64_t *address,
                         uint64_t *nbytes)
{
    void *found;
    const ElfW(Sym) *symbol = find(library, name, &found);
    if (!symbol || (symbol->st_info & 0xf) != STT_OBJECT)
        return xtc_fail(XTC_LAUNCH, "the module has no data '%.400s'", name);
    *address = (uintptr_t)found;
    *nbytes = symbol->st_size;
    return XTC_OK;
}
