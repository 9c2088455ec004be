// SPDX-License-Identifier: Apache-2.0
// The loader of images that are shared libraries.
#include "sim_image.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "xtc_error.h"
#include "xtc_library.h"

typedef struct module {
    xtc_library library;
    struct module *next;
} module;

// A function or data that was looked up.
typedef struct symbol {
    bool is_data;
    uint64_t address, nbytes;
    module *owner;
    struct symbol *next;
    char name[];
} symbol;

static module *modules;
static symbol *symbols;

static int32_t load(const void *image, uint64_t nbytes, uint64_t *loaded)
{
    module *added = calloc(1, sizeof *added);
    if (!added)
        return xtc_fail(XTC_IMAGE, "no memory for the image");
    int32_t status = xtc_library_open(&added->library, image, nbytes);
    if (status) {
        free(added);
        return status;
    }
    added->next = modules;
    modules = added;
    *loaded = (uintptr_t)added;
    return XTC_OK;
}

static module **find(uint64_t handle)
{
    module **link = &modules;
    while (*link && (uintptr_t)*link != handle)
        link = &(*link)->next;
    if (!*link)
        xtc_fail(XTC_LAUNCH, "the module is not loaded");
    return link;
}

static void forget_symbols(const module *owner)
{
    for (symbol **link = &symbols; *link;) {
        symbol *known = *link;
        if (known->owner == owner) {
            *link = known->next;
            free(known);
        } else {
            link = &known->next;
        }
    }
}

static int32_t unload(uint64_t handle)
{
    module **link = find(handle), *loaded = *link;
    if (!loaded)
        return XTC_LAUNCH;
    *link = loaded->next;
    forget_symbols(loaded);
    xtc_library_close(&loaded->library);
    free(loaded);
    return XTC_OK;
}

static int32_t remember(module *owner, const char *name, symbol found)
{
    for (const symbol *known = symbols; known; known = known->next)
        if (known->address == found.address)
            return XTC_OK;
    symbol *added = malloc(sizeof *added + strlen(name) + 1);
    if (!added)
        return xtc_fail(XTC_LAUNCH, "no memory for the symbol '%.400s'", name);
    *added = found;
    added->owner = owner;
    memcpy(added->name, name, strlen(name) + 1);
    added->next = symbols;
    symbols = added;
    return XTC_OK;
}

static int32_t function(uint64_t handle, const char *name, uint64_t *address)
{
    module *owner = *find(handle);
    if (!owner || xtc_library_function(&owner->library, name, address))
        return XTC_LAUNCH;
    return remember(owner, name, (symbol){.address = *address});
}

static int32_t data(uint64_t handle, const char *name, uint64_t *address, uint64_t *nbytes)
{
    module *owner = *find(handle);
    if (!owner || xtc_library_data(&owner->library, name, address, nbytes))
        return XTC_LAUNCH;
    return remember(owner, name, (symbol){true, *address, *nbytes, NULL, NULL});
}

static const char *function_name(uint64_t address)
{
    for (const symbol *known = symbols; known; known = known->next)
        if (!known->is_data && known->address == address)
            return known->name;
    return NULL;
}

static void *view(uint64_t address, uint64_t nbytes)
{
    for (const symbol *known = symbols; known; known = known->next) {
        uint64_t offset = address - known->address;
        if (known->is_data && offset <= known->nbytes && nbytes <= known->nbytes - offset)
            return (void *)(uintptr_t)address;
    }
    return NULL;
}

const sim_loader sim_library_loader = {load, unload, function, data, function_name, view};
