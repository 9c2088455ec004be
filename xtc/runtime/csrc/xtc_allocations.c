// SPDX-License-Identifier: Apache-2.0
#include "xtc_allocations.h"

#include <stdlib.h>

#include "xtc_error.h"

void xtc_allocations_open(xtc_allocations *all)
{
    *all = (xtc_allocations){.entries = NULL};
    pthread_mutex_init(&all->lock, NULL);
}

void xtc_allocations_close(xtc_allocations *all)
{
    pthread_mutex_destroy(&all->lock);
    free(all->entries);
}

static int32_t add(xtc_allocations *all, xtc_allocation added)
{
    if (all->count == all->capacity) {
        uint64_t capacity = all->capacity ? 2 * all->capacity : 16;
        xtc_allocation *entries = realloc(all->entries, capacity * sizeof *entries);
        if (!entries)
            return xtc_fail(XTC_MEMORY, "out of host memory");
        all->entries = entries;
        all->capacity = capacity;
    }
    all->entries[all->count++] = added;
    all->used += added.nbytes;
    return XTC_OK;
}

int32_t xtc_allocations_add(xtc_allocations *all, xtc_allocation added)
{
    pthread_mutex_lock(&all->lock);
    int32_t status = add(all, added);
    pthread_mutex_unlock(&all->lock);
    return status;
}

// The allocation that contains all these bytes, or NULL.
static xtc_allocation *find(const xtc_allocations *all, xtc_address address, uint64_t nbytes)
{
    for (uint64_t i = 0; i < all->count; i++) {
        xtc_allocation *entry = &all->entries[i];
        uint64_t offset = address - entry->address;
        if (offset < entry->nbytes && nbytes <= entry->nbytes - offset)
            return entry;
    }
    return NULL;
}

int32_t xtc_allocations_remove(xtc_allocations *all, xtc_address address)
{
    int32_t status = XTC_OK;
    pthread_mutex_lock(&all->lock);
    xtc_allocation *entry = find(all, address, 0);
    if (entry && entry->address == address) {
        all->used -= entry->nbytes;
        *entry = all->entries[--all->count];
    } else {
        status = xtc_fail(XTC_MEMORY, "no allocation begins at 0x%llx", (unsigned long long)address);
    }
    pthread_mutex_unlock(&all->lock);
    return status;
}

int32_t xtc_allocations_find(xtc_allocations *all, xtc_address address, uint64_t nbytes,
                             xtc_allocation *found)
{
    pthread_mutex_lock(&all->lock);
    const xtc_allocation *entry = find(all, address, nbytes);
    if (entry)
        *found = *entry;
    pthread_mutex_unlock(&all->lock);
    if (entry)
        return XTC_OK;
    return xtc_fail_outside(address, nbytes);
}
