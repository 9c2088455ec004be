// SPDX-License-Identifier: Apache-2.0
#include "hw_memory.h"

#include <stdlib.h>

#include "xtc_error.h"

static int32_t add(hw_memory *memory, hw_span span)
{
    if (memory->count == memory->capacity) {
        uint64_t capacity = memory->capacity ? 2 * memory->capacity : 16;
        hw_span *spans = realloc(memory->spans, capacity * sizeof span);
        if (!spans)
            return xtc_fail(XTC_MEMORY, "out of host memory");
        memory->spans = spans;
        memory->capacity = capacity;
    }
    memory->spans[memory->count++] = span;
    memory->used += span.nbytes;
    return XTC_OK;
}

int32_t hw_memory_add(hw_memory *memory, hw_span span)
{
    pthread_mutex_lock(&memory->lock);
    int32_t status = add(memory, span);
    pthread_mutex_unlock(&memory->lock);
    return status;
}

int32_t hw_memory_remove(hw_memory *memory, uint64_t address)
{
    pthread_mutex_lock(&memory->lock);
    uint64_t index = 0;
    while (index < memory->count && memory->spans[index].address != address)
        index++;
    int32_t status = XTC_OK;
    if (index == memory->count) {
        status = xtc_fail(XTC_MEMORY, "no allocation begins at 0x%llx", (unsigned long long)address);
    } else {
        memory->used -= memory->spans[index].nbytes;
        memory->spans[index] = memory->spans[--memory->count];
    }
    pthread_mutex_unlock(&memory->lock);
    return status;
}

int32_t hw_memory_find(hw_memory *memory, uint64_t address, uint64_t nbytes, hw_span *found)
{
    int32_t status = XTC_MEMORY;
    pthread_mutex_lock(&memory->lock);
    for (uint64_t index = 0; index < memory->count; index++) {
        hw_span span = memory->spans[index];
        uint64_t offset = address - span.address;
        if (offset >= span.nbytes || nbytes > span.nbytes - offset)
            continue;
        *found = span;
        status = XTC_OK;
    }
    pthread_mutex_unlock(&memory->lock);
    if (status)
        return xtc_fail(status, "%llu bytes at 0x%llx are not inside an allocation",
                        (unsigned long long)nbytes, (unsigned long long)address);
    return XTC_OK;
}
