// SPDX-License-Identifier: Apache-2.0
#include "vendor_memory.h"

#include <stdlib.h>

#include "xtc_error.h"

int32_t vendor_memory_add(vendor_memory *memory, vendor_block block)
{
    int32_t status = XTC_OK;
    pthread_mutex_lock(&memory->lock);
    if (memory->count == memory->capacity) {
        uint64_t capacity = memory->capacity ? 2 * memory->capacity : 16;
        vendor_block *blocks = realloc(memory->blocks, capacity * sizeof *blocks);
        if (blocks) {
            memory->blocks = blocks;
            memory->capacity = capacity;
        } else {
            status = xtc_fail(XTC_MEMORY, "out of host memory");
        }
    }
    if (status == XTC_OK) {
        memory->blocks[memory->count++] = block;
        memory->used += block.nbytes;
    }
    pthread_mutex_unlock(&memory->lock);
    return status;
}

// The block that holds `address`, or NULL.
static vendor_block *find(const vendor_memory *memory, xtc_address address)
{
    for (uint64_t i = 0; i < memory->count; i++)
        if (address - memory->blocks[i].address < memory->blocks[i].nbytes)
            return &memory->blocks[i];
    return NULL;
}

int32_t vendor_memory_remove(vendor_memory *memory, xtc_address address)
{
    int32_t status = XTC_OK;
    pthread_mutex_lock(&memory->lock);
    vendor_block *block = find(memory, address);
    if (block && block->address == address) {
        memory->used -= block->nbytes;
        *block = memory->blocks[--memory->count];
    } else {
        status = xtc_fail(XTC_MEMORY, "no allocation begins at 0x%llx", (unsigned long long)address);
    }
    pthread_mutex_unlock(&memory->lock);
    return status;
}

int32_t vendor_memory_span(vendor_memory *memory, xtc_address address, vendor_block *found)
{
    pthread_mutex_lock(&memory->lock);
    const vendor_block *block = find(memory, address);
    if (block)
        *found = *block;
    pthread_mutex_unlock(&memory->lock);
    if (block)
        return XTC_OK;
    return xtc_fail(XTC_MEMORY, "0x%llx is not inside an allocation", (unsigned long long)address);
}

int32_t vendor_memory_physical(vendor_memory *memory, xtc_address address, uint64_t nbytes,
                               uint64_t *physical)
{
    vendor_block block = {0, 0, 0};
    int32_t status = vendor_memory_span(memory, address, &block);
    if (status || nbytes > block.nbytes - (address - block.address))
        return xtc_fail(XTC_MEMORY, "%llu bytes at 0x%llx are not inside an allocation",
                        (unsigned long long)nbytes, (unsigned long long)address);
    *physical = block.physical + (address - block.address);
    return XTC_OK;
}
