// SPDX-License-Identifier: Apache-2.0
#include "null_code.h"

#include <stdlib.h>

#include "xtc_error.h"
#include "xtc_library.h"

#define DATA 16 // most data symbols per module

struct null_module {
    xtc_library library;
    struct {
        xtc_address address;
        uint64_t nbytes;
    } data[DATA];
    int count;
    null_module *next;
};

int32_t null_code_load(null_module **all, const void *image, uint64_t nbytes, xtc_module *module)
{
    null_module *loaded = calloc(1, sizeof *loaded);
    if (!loaded)
        return xtc_fail(XTC_MEMORY, "no memory for the image");
    int32_t status = xtc_library_open(&loaded->library, image, nbytes);
    if (status) {
        free(loaded);
        return status;
    }
    loaded->next = *all;
    *all = loaded;
    *module = (uintptr_t)loaded;
    return XTC_OK;
}

static null_module **find(null_module **all, xtc_module module)
{
    while (*all && (uintptr_t)*all != module)
        all = &(*all)->next;
    if (!*all)
        xtc_fail(XTC_LAUNCH, "the module is not loaded");
    return all;
}

int32_t null_code_unload(null_module **all, xtc_module module)
{
    null_module **link = find(all, module), *loaded = *link;
    if (!loaded)
        return XTC_LAUNCH;
    *link = loaded->next;
    xtc_library_close(&loaded->library);
    free(loaded);
    return XTC_OK;
}

int32_t null_code_function(null_module **all, xtc_module module, const char *name,
                           xtc_function *function)
{
    const null_module *loaded = *find(all, module);
    return loaded ? xtc_library_function(&loaded->library, name, function) : XTC_LAUNCH;
}

int32_t null_code_data(null_module **all, xtc_module module, const char *name,
                       xtc_address *address, uint64_t *nbytes)
{
    null_module *loaded = *find(all, module);
    if (!loaded || xtc_library_data(&loaded->library, name, address, nbytes))
        return XTC_LAUNCH;
    if (null_code_has_data(loaded, *address, *nbytes))
        return XTC_OK;
    if (loaded->count == DATA)
        return xtc_fail(XTC_LAUNCH, "a module is asked for %d symbols of data at most", DATA);
    loaded->data[loaded->count].address = *address;
    loaded->data[loaded->count++].nbytes = *nbytes;
    return XTC_OK;
}

bool null_code_has_data(const null_module *all, xtc_address address, uint64_t nbytes)
{
    for (; all; all = all->next)
        for (int i = 0; i < all->count; i++) {
            uint64_t offset = address - all->data[i].address;
            if (offset <= all->data[i].nbytes && nbytes <= all->data[i].nbytes - offset)
                return true;
        }
    return false;
}
