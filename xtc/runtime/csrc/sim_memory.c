// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "sim_memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim_poison.h"
#include "xtc_error.h"

void sim_memory_open(sim_memory *memory, const sim_host *sim)
{
    memset(memory, 0, sizeof *memory);
    memory->bytes = sim_host_memory(sim);
    memory->map = sim_host_map(sim);
    memory->address = sim->channel->memory_address;
    memory->nbytes = sim->channel->memory.nbytes;
    pthread_mutex_init(&memory->lock, NULL);
}

void sim_memory_close(sim_memory *memory)
{
    free(memory->spans);
    pthread_mutex_destroy(&memory->lock);
}

// The number of allocations that begin at or before `address`.
static size_t count_before(const sim_memory *memory, uint64_t address)
{
    size_t low = 0, high = memory->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (memory->spans[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint64_t whole(uint64_t nbytes)
{
    return (nbytes + SIM_GRANULE - 1) / SIM_GRANULE * SIM_GRANULE;
}

// The begin of the free bytes after allocation `index - 1` and its guard granule.
static uint64_t gap_begin(const sim_memory *memory, size_t index)
{
    if (index == 0)
        return memory->address;
    const sim_span *span = &memory->spans[index - 1];
    return span->address + whole(span->nbytes) + SIM_GRANULE;
}

static uint64_t gap_end(const sim_memory *memory, size_t index)
{
    if (index == memory->count)
        return memory->address + memory->nbytes + SIM_GRANULE; // no guard is needed at the end
    return memory->spans[index].address;
}

// The first free address from `from` on for `nbytes` and a guard; 0 if there is none.
static uint64_t gap_from(const sim_memory *memory, uint64_t from, uint64_t nbytes)
{
    for (size_t index = count_before(memory, from); index <= memory->count; index++) {
        uint64_t begin = gap_begin(memory, index), end = gap_end(memory, index);
        if (begin < from)
            begin = from;
        if (begin < end && end - begin >= whole(nbytes) + SIM_GRANULE)
            return begin;
    }
    return 0;
}

static int32_t insert(sim_memory *memory, sim_span span)
{
    if (memory->count == memory->capacity) {
        size_t capacity = memory->capacity ? 2 * memory->capacity : 16;
        sim_span *spans = realloc(memory->spans, capacity * sizeof *spans);
        if (!spans)
            return xtc_fail(XTC_MEMORY, "out of host memory");
        memory->spans = spans;
        memory->capacity = capacity;
    }
    size_t index = count_before(memory, span.address);
    memmove(memory->spans + index + 1, memory->spans + index,
            (memory->count - index) * sizeof span);
    memory->spans[index] = span;
    memory->count++;
    memory->used += span.nbytes;
    return XTC_OK;
}

static void mark(sim_memory *memory, sim_span span, int allocated)
{
    uint8_t *granules = memory->map + (span.address - memory->address) / SIM_GRANULE;
    memset(granules, allocated ? SIM_GRANULE : 0, span.nbytes / SIM_GRANULE);
    if (span.nbytes % SIM_GRANULE)
        granules[span.nbytes / SIM_GRANULE] = allocated ? span.nbytes % SIM_GRANULE : 0;
}

static int32_t allocate(sim_memory *memory, uint64_t nbytes, xtc_address *address)
{
    uint64_t begin = 0;
    if (nbytes && nbytes <= memory->nbytes) {
        begin = gap_from(memory, memory->next, nbytes);
        if (!begin)
            begin = gap_from(memory, memory->address, nbytes);
    }
    if (!begin)
        return xtc_fail(XTC_MEMORY, "cannot allocate %llu bytes\n%llu of %llu bytes are free",
                        (unsigned long long)nbytes,
                        (unsigned long long)(memory->nbytes - memory->used),
                        (unsigned long long)memory->nbytes);
    sim_span span = {begin, nbytes};
    if (insert(memory, span))
        return XTC_MEMORY;
    memory->next = begin + whole(nbytes) + SIM_GRANULE;
    sim_poison(memory->bytes + (begin - memory->address), nbytes);
    mark(memory, span, 1);
    *address = begin;
    return XTC_OK;
}

int32_t sim_memory_alloc(sim_memory *memory, uint64_t nbytes, xtc_address *address)
{
    *address = 0;
    pthread_mutex_lock(&memory->lock);
    int32_t status = allocate(memory, nbytes, address);
    pthread_mutex_unlock(&memory->lock);
    return status;
}

// Release the pages that only this allocation used.
static void give_back(const sim_memory *memory, sim_span span)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t begin = span.address - memory->address, end = begin + span.nbytes;
    begin = (begin + page - 1) / page * page;
    end = end / page * page;
    if (begin < end)
        madvise(memory->bytes + begin, end - begin, MADV_REMOVE);
}

int32_t sim_memory_free(sim_memory *memory, xtc_address address)
{
    pthread_mutex_lock(&memory->lock);
    size_t index = count_before(memory, address);
    int32_t status = XTC_OK;
    if (index == 0 || memory->spans[index - 1].address != address) {
        status = xtc_fail(XTC_MEMORY, "no allocation begins at 0x%llx", (unsigned long long)address);
    } else {
        sim_span *span = &memory->spans[index - 1];
        mark(memory, *span, 0);
        give_back(memory, *span);
        memory->used -= span->nbytes;
        memmove(span, span + 1, (--memory->count - (index - 1)) * sizeof *span);
    }
    pthread_mutex_unlock(&memory->lock);
    return status;
}

int32_t sim_memory_span(sim_memory *memory, xtc_address address, sim_span *span)
{
    pthread_mutex_lock(&memory->lock);
    size_t index = count_before(memory, address);
    sim_span found = {0, 0};
    if (index)
        found = memory->spans[index - 1];
    pthread_mutex_unlock(&memory->lock);
    if (!found.nbytes || address - found.address >= found.nbytes)
        return xtc_fail_outside(address, 1);
    *span = found;
    return XTC_OK;
}

int32_t sim_memory_view(sim_memory *memory, xtc_address address, uint64_t nbytes, void **bytes)
{
    sim_span span;
    if (sim_memory_span(memory, address, &span))
        return xtc_fail_outside(address, nbytes);
    uint64_t left = span.nbytes - (address - span.address);
    if (nbytes > left)
        return xtc_fail(XTC_MEMORY,
                        "%llu bytes at 0x%llx are not inside an allocation\n"
                        "the allocation at 0x%llx has %llu bytes, of which %llu follow",
                        (unsigned long long)nbytes, (unsigned long long)address,
                        (unsigned long long)span.address, (unsigned long long)span.nbytes,
                        (unsigned long long)left);
    *bytes = memory->bytes + (address - memory->address);
    return XTC_OK;
}

uint64_t sim_memory_used(sim_memory *memory)
{
    pthread_mutex_lock(&memory->lock);
    uint64_t used = memory->used;
    pthread_mutex_unlock(&memory->lock);
    return used;
}
