// SPDX-License-Identifier: Apache-2.0
// Device code of a set, which every member loads.
#include <stdlib.h>

#include "set.h"

static int32_t add(xtc_device *set, set_symbol **all, const set_numbers *numbers,
                   uint64_t *number)
{
    set_symbol *added = malloc(sizeof *added);
    if (!added)
        return xtc_fail(XTC_LAUNCH, "out of host memory");
    pthread_mutex_lock(&set->lock);
    *added = (set_symbol){++set->last_number, *numbers, *all};
    *all = added;
    *number = added->number;
    pthread_mutex_unlock(&set->lock);
    return XTC_OK;
}

static int32_t find(xtc_device *set, const set_symbol *known, uint64_t number, set_numbers *found)
{
    pthread_mutex_lock(&set->lock);
    while (known && known->number != number)
        known = known->next;
    if (known)
        *found = known->numbers;
    pthread_mutex_unlock(&set->lock);
    return known ? XTC_OK : xtc_fail(XTC_LAUNCH, "the module is not loaded");
}

static void unload_from(xtc_device *set, const set_numbers *modules, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        set->members[i].driver->unload(set->members[i].device, modules->of[i]);
}

int32_t set_load(xtc_device *set, const void *image, uint64_t nbytes, xtc_module *module)
{
    set_numbers modules;
    int32_t status = set_check(set);
    for (uint32_t i = 0; i < set->count && !status; i++) {
        const set_member *member = &set->members[i];
        status = member->driver->load(member->device, image, nbytes, &modules.of[i]);
        if (status) {
            set_failed(member, i, status);
            unload_from(set, &modules, i);
        }
    }
    return status ? status : add(set, &set->modules, &modules, module);
}

int32_t set_unload(xtc_device *set, xtc_module module)
{
    set_numbers modules;
    int32_t status = set_check(set);
    if (!status)
        status = find(set, set->modules, module, &modules);
    if (status)
        return status;
    unload_from(set, &modules, set->count);
    pthread_mutex_lock(&set->lock);
    set_symbol **link = &set->modules;
    while ((*link)->number != module)
        link = &(*link)->next;
    set_symbol *gone = *link;
    *link = gone->next;
    pthread_mutex_unlock(&set->lock);
    free(gone);
    return XTC_OK;
}

int32_t set_function(xtc_device *set, xtc_module module, const char *name, xtc_function *function)
{
    set_numbers modules, functions;
    int32_t status = set_check(set);
    if (!status)
        status = find(set, set->modules, module, &modules);
    for (uint32_t i = 0; i < set->count && !status; i++) {
        const set_member *member = &set->members[i];
        status = member->driver->symbol(member->device, modules.of[i], name, &functions.of[i]);
        if (status)
            set_failed(member, i, status);
    }
    return status ? status : add(set, &set->functions, &functions, function);
}

int32_t set_data(xtc_device *set, xtc_module module, const char *name, xtc_address *address,
                 uint64_t *nbytes)
{
    set_numbers modules, addresses;
    int32_t status = set_check(set);
    if (!status)
        status = find(set, set->modules, module, &modules);
    for (uint32_t i = 0; i < set->count && !status; i++) {
        const set_member *member = &set->members[i];
        status = member->driver->data(member->device, modules.of[i], name, &addresses.of[i],
                                      nbytes);
        if (status)
            set_failed(member, i, status);
    }
    return status ? status : set_add_data(set, &addresses, *nbytes, address);
}

int32_t set_find_function(xtc_device *set, xtc_function function, set_numbers *found)
{
    return find(set, set->functions, function, found);
}

static void forget(set_symbol *known)
{
    while (known) {
        set_symbol *gone = known;
        known = known->next;
        free(gone);
    }
}

void set_forget_symbols(xtc_device *set)
{
    forget(set->modules);
    forget(set->functions);
}
