// SPDX-License-Identifier: Apache-2.0
// Allocations of a set: in all memories, replicated or sharded.
#include <stdlib.h>

#include "set.h"

typedef unsigned long long ull;

#define ALIGNMENT 4096 // of the set's addresses

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

// The number of bytes of the allocation before those of the member.
static uint64_t begin_of(const set_member *member, const set_allocation *allocation)
{
    return member->first_memory * allocation->shard_bytes;
}

set_part set_part_of(const xtc_device *set, uint32_t number, const set_allocation *allocation,
                     uint64_t offset, uint64_t nbytes)
{
    const set_member *member = &set->members[number];
    xtc_address address = allocation->addresses.of[number];
    if (!allocation->shard_bytes)
        return (set_part){address + offset, 0, nbytes};
    uint64_t begin = begin_of(member, allocation);
    uint64_t end = least(begin + member->memories * allocation->shard_bytes, allocation->nbytes);
    uint64_t from = offset > begin ? offset : begin, to = least(offset + nbytes, end);
    if (from >= to)
        return (set_part){0, 0, 0};
    return (set_part){address + (from - begin), from - offset, to - from};
}

int32_t set_find(xtc_device *set, xtc_address address, uint64_t nbytes, set_allocation *found)
{
    pthread_mutex_lock(&set->lock);
    const set_allocation *known = set->allocations;
    while (known && (address - known->address > known->nbytes ||
                     nbytes > known->nbytes - (address - known->address)))
        known = known->next;
    if (known)
        *found = *known;
    pthread_mutex_unlock(&set->lock);
    if (known)
        return XTC_OK;
    return xtc_fail_outside(address, nbytes);
}

// Allocate a member's part; a failure stops the member's queue.
static int32_t alloc_on(const set_member *member, xtc_queue queue, const set_allocation *wanted,
                        xtc_address *address)
{
    uint64_t shard = wanted->shard_bytes;
    if (!shard)
        return member->driver->alloc(member->device, queue, wanted->nbytes, address);
    if (member->memories == 1)
        return member->driver->alloc(member->device, queue, shard, address);
    return member->driver->alloc_sharded(member->device, queue, member->memories * shard, shard,
                                         address);
}

static void give_back(xtc_device *set, const set_allocation *allocation, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const set_member *member = &set->members[i];
        member->driver->free(member->device, allocation->addresses.of[i]);
    }
}

static int32_t alloc_on_all(xtc_device *set, const set_numbers *queues, set_allocation *wanted)
{
    for (uint32_t i = 0; i < set->count; i++) {
        const set_member *member = &set->members[i];
        int32_t status = alloc_on(member, queues->of[i], wanted, &wanted->addresses.of[i]);
        if (status) {
            set_failed(member, i, status); // before another call overwrites the message
            give_back(set, wanted, i);
            return status;
        }
    }
    return XTC_OK;
}

static xtc_address add(xtc_device *set, set_allocation *allocation)
{
    pthread_mutex_lock(&set->lock);
    allocation->address = set->next_address;
    set->next_address += (allocation->nbytes / ALIGNMENT + 2) * ALIGNMENT;
    allocation->next = set->allocations;
    set->allocations = allocation;
    pthread_mutex_unlock(&set->lock);
    return allocation->address;
}

static int32_t alloc(xtc_device *set, xtc_queue queue, uint64_t nbytes, uint64_t shard_bytes,
                     xtc_address *address)
{
    bool stopped;
    set_numbers queues = {{XTC_NOW}};
    if (queue != XTC_NOW && set_find_queue(set, queue, &queues, &stopped))
        return XTC_LOST;
    set_allocation *wanted = calloc(1, sizeof *wanted);
    if (!wanted)
        return xtc_fail(XTC_MEMORY, "out of host memory");
    wanted->nbytes = nbytes;
    wanted->shard_bytes = shard_bytes;
    int32_t status = alloc_on_all(set, &queues, wanted);
    if (status)
        free(wanted);
    else
        *address = add(set, wanted);
    return status;
}

int32_t set_alloc(xtc_device *set, xtc_queue queue, uint64_t nbytes, xtc_address *address)
{
    *address = 0;
    int32_t status = set_check(set);
    return set_stop(set, queue, status ? status : alloc(set, queue, nbytes, 0, address));
}

int32_t set_alloc_sharded(xtc_device *set, xtc_queue queue, uint64_t nbytes, uint64_t shard_bytes,
                          xtc_address *address)
{
    *address = 0;
    int32_t status = set_check(set);
    if (!status && (!shard_bytes || (nbytes + shard_bytes - 1) / shard_bytes > set->memories))
        status = xtc_fail(XTC_USAGE, "shards of %llu of %llu bytes do not fit %u memories",
                          (ull)shard_bytes, (ull)nbytes, set->memories);
    status = status ? status : alloc(set, queue, nbytes, shard_bytes, address);
    return set_stop(set, queue, status);
}

int32_t set_add_data(xtc_device *set, const set_numbers *addresses, uint64_t nbytes,
                     xtc_address *address)
{
    set_allocation *data = calloc(1, sizeof *data);
    if (!data)
        return xtc_fail(XTC_LAUNCH, "out of host memory");
    data->nbytes = nbytes;
    data->is_data = true;
    data->addresses = *addresses;
    *address = add(set, data);
    return XTC_OK;
}

int32_t set_free(xtc_device *set, xtc_address address)
{
    if (set_check(set))
        return XTC_LOST;
    pthread_mutex_lock(&set->lock);
    set_allocation **link = &set->allocations;
    while (*link && ((*link)->address != address || (*link)->is_data))
        link = &(*link)->next;
    set_allocation *found = *link;
    if (found)
        *link = found->next;
    pthread_mutex_unlock(&set->lock);
    if (!found)
        return xtc_fail(XTC_MEMORY, "no allocation begins at 0x%llx", (ull)address);
    give_back(set, found, set->count);
    free(found);
    return XTC_OK;
}

int32_t set_span(xtc_device *set, xtc_address address, xtc_address *start, uint64_t *nbytes)
{
    set_allocation found = {0};
    int32_t status = set_check(set);
    if (!status)
        status = set_find(set, address, 1, &found);
    *start = found.address;
    *nbytes = found.nbytes;
    return status;
}

int32_t set_memory(xtc_device *set, uint64_t *used, uint64_t *size)
{
    *used = *size = 0;
    int32_t status = set_check(set);
    for (uint32_t i = 0; i < set->count && !status; i++) {
        uint64_t used_there, size_there;
        const set_member *member = &set->members[i];
        status = member->driver->memory(member->device, &used_there, &size_there);
        *used += used_there;
        *size += size_there;
        if (status)
            set_failed(member, i, status);
    }
    return status;
}

int32_t set_memories(xtc_device *set, uint32_t *count)
{
    *count = set->memories;
    return set_check(set);
}
