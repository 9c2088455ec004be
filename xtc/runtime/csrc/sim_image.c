// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "sim_image.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "xtc_driver.h"

typedef struct module {
    void *handle;
    int file; // stays open: its number is the library's name, by which dlopen knows it again
    struct module *next;
} module;

typedef struct function {
    uint64_t address;
    module *owner;
    struct function *next;
    char name[];
} function;

static module *modules;
static function *functions;

static void refuse(sim_request *request, int32_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void refuse(sim_request *request, int32_t status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(request->text, sizeof request->text, format, arguments);
    va_end(arguments);
    request->status = status;
}

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

void sim_image_load(sim_request *request, const void *image)
{
    module *loaded = calloc(1, sizeof *loaded);
    int file = loaded ? file_of(image, request->arguments[0]) : -1;
    if (file < 0) {
        free(loaded);
        refuse(request, XTC_IMAGE, "no memory for the image: %s", strerror(errno));
        return;
    }
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    loaded->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!loaded->handle) {
        refuse(request, XTC_IMAGE, "the image cannot be loaded\n%s", dlerror());
        close(file);
        free(loaded);
        return;
    }
    loaded->file = file;
    loaded->next = modules;
    modules = loaded;
    request->result = (uintptr_t)loaded;
}

static module **find(uint64_t handle)
{
    module **link = &modules;
    while (*link && (uintptr_t)*link != handle)
        link = &(*link)->next;
    return link;
}

static void forget_functions(const module *owner)
{
    for (function **link = &functions; *link;) {
        function *one = *link;
        if (one->owner == owner) {
            *link = one->next;
            free(one);
        } else {
            link = &one->next;
        }
    }
}

void sim_image_unload(sim_request *request)
{
    module **link = find(request->arguments[0]);
    module *loaded = *link;
    if (!loaded) {
        refuse(request, XTC_LAUNCH, "the module is not loaded");
        return;
    }
    *link = loaded->next;
    forget_functions(loaded);
    dlclose(loaded->handle);
    close(loaded->file);
    free(loaded);
}

static void remember(uint64_t address, module *owner, const char *name)
{
    for (const function *one = functions; one; one = one->next)
        if (one->address == address)
            return;
    function *one = malloc(sizeof *one + strlen(name) + 1);
    if (!one)
        return;
    one->address = address;
    one->owner = owner;
    memcpy(one->name, name, strlen(name) + 1);
    one->next = functions;
    functions = one;
}

// dlsym also finds what the module's libraries define, and data.
static bool is_function_of(const module *owner, const void *address)
{
    Dl_info information;
    const struct link_map *library;
    const ElfW(Sym) *symbol;
    return !dlinfo(owner->handle, RTLD_DI_LINKMAP, &library) &&
           dladdr1(address, &information, (void **)&symbol, RTLD_DL_SYMENT) && symbol &&
           information.dli_fbase == (void *)library->l_addr &&
           (symbol->st_info & 0xf) == STT_FUNC;
}

void sim_image_symbol(sim_request *request)
{
    module *loaded = *find(request->arguments[0]);
    if (!loaded) {
        refuse(request, XTC_LAUNCH, "the module is not loaded");
        return;
    }
    void *address = dlsym(loaded->handle, request->text);
    if (!address || !is_function_of(loaded, address)) {
        char name[SIM_TEXT];
        memcpy(name, request->text, sizeof name);
        refuse(request, XTC_LAUNCH, "the module has no function '%.400s'", name);
        return;
    }
    remember((uintptr_t)address, loaded, request->text);
    request->result = (uintptr_t)address;
}

const char *sim_image_function_name(uint64_t address)
{
    for (const function *one = functions; one; one = one->next)
        if (one->address == address)
            return one->name;
    return NULL;
}
