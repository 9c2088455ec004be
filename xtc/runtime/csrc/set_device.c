// SPDX-License-Identifier: Apache-2.0
// Opening and closing a set, its counters, and its driver table.
#include <stdlib.h>
#include <string.h>

#include "set.h"

#define FIRST_ADDRESS (1ull << 40) // of the set, above the addresses of members

int32_t set_check(const xtc_device *set)
{
    return set->closed ? xtc_fail(XTC_LOST, "the device is closed") : XTC_OK;
}

int32_t set_failed(const set_member *member, uint32_t number, int32_t status)
{
    return xtc_fail(status, "member %u: %s", number, member->driver->message());
}

static void close_members(xtc_device *set, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        set->members[i].driver->close(set->members[i].device);
        set->members[i].driver->release(set->members[i].device);
    }
}

static int32_t open_member(xtc_device *set, const xtc_driver *driver, const void *config)
{
    set_member *member = &set->members[set->count];
    member->driver = driver;
    member->first_memory = set->memories;
    int32_t status = driver->open(config, &member->device);
    if (status)
        return set_failed(member, set->count, status);
    driver->memories(member->device, &member->memories);
    set->memories += member->memories;
    set->count++;
    return XTC_OK;
}

// The counter names, which all members share.
static int32_t copy_counter_names(xtc_device *set)
{
    const set_member *first = &set->members[0];
    const char *const *names;
    int32_t status = first->driver->counters(first->device, &set->counter_count, &names, NULL);
    if (status)
        return set_failed(first, 0, status);
    set->counter_names = calloc(set->counter_count + 1, sizeof *set->counter_names);
    if (!set->counter_names)
        return xtc_fail(XTC_NOT_FOUND, "out of host memory");
    memcpy(set->counter_names, names, set->counter_count * sizeof *names);
    return XTC_OK;
}

static int32_t open_set(const void *given, xtc_device **opened)
{
    const set_config *config = given;
    if (config->nbytes != sizeof *config || config->count < 1 || config->count > SET_MEMBERS)
        return xtc_fail(XTC_USAGE, "a set has 1 to %d members, not %u", SET_MEMBERS, config->count);
    xtc_device *set = calloc(1, sizeof *set);
    if (!set)
        return xtc_fail(XTC_NOT_FOUND, "out of host memory");
    int32_t status = XTC_OK;
    for (uint32_t i = 0; i < config->count && !status; i++)
        status = open_member(set, config->driver, config->configs[i]);
    if (!status)
        status = copy_counter_names(set);
    if (status) {
        close_members(set, set->count);
        free(set);
        return status;
    }
    pthread_mutex_init(&set->lock, NULL);
    set->next_address = FIRST_ADDRESS;
    *opened = set;
    return XTC_OK;
}

static int32_t close_set(xtc_device *set)
{
    int32_t status = XTC_OK;
    if (set->closed)
        return set_check(set);
    for (uint32_t i = 0; i < set->count; i++) {
        const set_member *member = &set->members[i];
        int32_t closed = member->driver->close(member->device);
        if (closed && !status)
            status = set_failed(member, i, closed);
    }
    set->closed = status == XTC_OK || status == XTC_LOST;
    return status;
}

static void release_set(xtc_device *set)
{
    for (uint32_t i = 0; i < set->count; i++)
        set->members[i].driver->release(set->members[i].device);
    set_forget_queues(set);
    set_forget_symbols(set);
    while (set->allocations) {
        set_allocation *gone = set->allocations;
        set->allocations = gone->next;
        free(gone);
    }
    pthread_mutex_destroy(&set->lock);
    free(set->counter_names);
    free(set);
}

// Sums over the members.
static int32_t counters(xtc_device *set, uint32_t *count, const char *const **names,
                        uint64_t *values)
{
    if (set_check(set))
        return XTC_LOST;
    *count = set->counter_count;
    *names = set->counter_names;
    if (!values)
        return XTC_OK;
    memset(values, 0, *count * sizeof *values);
    uint64_t *own = calloc(*count + 1, sizeof *own);
    if (!own)
        return xtc_fail(XTC_USAGE, "out of host memory");
    int32_t status = XTC_OK;
    for (uint32_t i = 0; i < set->count && !status; i++) {
        const set_member *member = &set->members[i];
        uint32_t own_count;
        const char *const *own_names;
        status = member->driver->counters(member->device, &own_count, &own_names, own);
        if (status)
            set_failed(member, i, status);
        for (uint32_t j = 0; j < *count; j++)
            values[j] += own[j];
    }
    free(own);
    return status;
}

static const xtc_driver table = {
    .version = XTC_DRIVER_VERSION,
    .nbytes = sizeof table,
    .message = xtc_message,
    .fail = xtc_fail_with,
    .open = open_set,
    .close = close_set,
    .release = release_set,
    .alloc = set_alloc,
    .free = set_free,
    .span = set_span,
    .memory = set_memory,
    .load = set_load,
    .unload = set_unload,
    .symbol = set_function,
    .queue_open = set_queue_open,
    .queue_close = set_queue_close,
    .copy_to = set_copy_to,
    .copy_from = set_copy_from,
    .copy_within = set_copy_within,
    .fill = set_fill,
    .launch = set_launch,
    .callback = set_callback,
    .after = set_after,
    .event = set_event_of,
    .done = set_done,
    .wait = set_wait,
    .counters = counters,
    .data = set_data,
    .memories = set_memories,
    .alloc_sharded = set_alloc_sharded,
};

const xtc_driver *xtc_driver_table(void)
{
    return &table;
}
