// SPDX-License-Identifier: Apache-2.0
#include "null_memory.h"

#include <stdlib.h>
#include <string.h>

#include "xtc_error.h"

#define ALIGNMENT 64
#define POISON 0xa5

typedef unsigned long long ull;

void null_memory_open(null_memory *memory, uint64_t size)
{
    pthread_mutex_init(&memory->lock, NULL);
    memory->blocks = NULL;
    memory->used = 0;
    memory->size = size;
}

void null_memory_close(null_memory *memory)
{
    while (memory->blocks) {
        null_block *block = memory->blocks;
        memory->blocks = block->next;
        free(block->bytes);
        free(block);
    }
    pthread_mutex_destroy(&memory->lock);
}

static int32_t add(null_memory *memory, uint64_t nbytes, xtc_address *address)
{
    uint64_t available = memory->size - memory->used;
    if (nbytes > available)
        return xtc_fail(XTC_MEMORY, "cannot allocate %llu bytes\n%llu of %llu bytes are free",
                        (ull)nbytes, (ull)available, (ull)memory->size);
    null_block *block = malloc(sizeof *block);
    uint64_t padded = (nbytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    uint8_t *bytes = block ? aligned_alloc(ALIGNMENT, padded) : NULL;
    if (!bytes) {
        free(block);
        return xtc_fail(XTC_MEMORY, "cannot allocate %llu bytes\nout of host memory", (ull)nbytes);
    }
    memset(bytes, POISON, padded);
    *block = (null_block){memory->blocks, nbytes, bytes};
    memory->blocks = block;
    memory->used += nbytes;
    *address = (uintptr_t)bytes;
    return XTC_OK;
}

int32_t null_memory_alloc(null_memory *memory, uint64_t nbytes, xtc_address *address)
{
    pthread_mutex_lock(&memory->lock);
    int32_t status = nbytes ? add(memory, nbytes, address)
                            : xtc_fail(XTC_MEMORY, "an allocation has at least one byte");
    pthread_mutex_unlock(&memory->lock);
    return status;
}

static int32_t take(null_memory *memory, xtc_address address)
{
    for (null_block **at = &memory->blocks; *at; at = &(*at)->next) {
        null_block *block = *at;
        if ((uintptr_t)block->bytes == address) {
            *at = block->next;
            memory->used -= block->nbytes;
            free(block->bytes);
            free(block);
            return XTC_OK;
        }
    }
    return xtc_fail(XTC_MEMORY, "no allocation begins at 0x%llx", (ull)address);
}

int32_t null_memory_free(null_memory *memory, xtc_address address)
{
    pthread_mutex_lock(&memory->lock);
    int32_t status = take(memory, address);
    pthread_mutex_unlock(&memory->lock);
    return status;
}

int32_t null_memory_find(null_memory *memory, xtc_address address, uint64_t nbytes,
                         xtc_address *start, uint64_t *size)
{
    int32_t status = XTC_MEMORY;
    pthread_mutex_lock(&memory->lock);
    for (const null_block *block = memory->blocks; block && status; block = block->next) {
        uint64_t offset = address - (uintptr_t)block->bytes;
        if (offset < block->nbytes && nbytes <= block->nbytes - offset) {
            *start = (uintptr_t)block->bytes;
            *size = block->nbytes;
            status = XTC_OK;
        }
    }
    pthread_mutex_unlock(&memory->lock);
    return status ? xtc_fail_outside(address, nbytes) : XTC_OK;
}
