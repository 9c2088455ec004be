// SPDX-License-Identifier: Apache-2.0
#include "driver_memory.h"

#include <stdlib.h>
#include <string.h>

#include "sim_poison.h"
#include "xtc_driver.h"
#include "xtc_error.h"

#define MRAM_BYTES (64u << 20)
#define GRANULE 8
#define ALIGNMENT 64
#define PROGRAM_ROOM (1u << 20) // of MRAM, for the program's variables

#define ASYNC_JOB (1u << 31) // in an error: bits 16 to 30 have the kind of job
#define ERROR_OF_JOB 0xffffu

// A function of the simulator's library; without it the host really waits.
dpu_error_t lib_settle(struct dpu_set_t set) __attribute__((weak));

dpu_error_t driver_settle(struct dpu_set_t set)
{
    uint32_t error = (uint32_t)(lib_settle ? lib_settle(set) : dpu_sync(set));
    return (dpu_error_t)(error & ASYNC_JOB ? error & ERROR_OF_JOB : error);
}

static uint64_t rounded(uint64_t nbytes, uint64_t to)
{
    return (nbytes + to - 1) / to * to;
}

int32_t driver_failed(dpu_error_t error, const char *what)
{
    if (error == DPU_OK)
        return XTC_OK;
    char *text = dpu_error_to_string(error);
    int32_t status = error == DPU_ERR_DPU_FAULT ? XTC_FAULT
                     : error == DPU_ERR_TIMEOUT ? XTC_TIMEOUT
                     : error == DPU_ERR_DRIVER  ? XTC_LOST
                                                : XTC_LAUNCH;
    xtc_fail(status, "%s: %s", what, text);
    free(text);
    return status;
}

void driver_memory_open(driver_memory *memory, struct dpu_set_t set, uint32_t dpus)
{
    memset(memory, 0, sizeof *memory);
    pthread_mutex_init(&memory->lock, NULL);
    memory->set = set;
    memory->dpus = dpus;
    memory->size = (uint64_t)(MRAM_BYTES - PROGRAM_ROOM) * dpus;
}

static void free_buffer(driver_memory *memory, driver_buffer *buffer)
{
    memory->used -= buffer->nbytes;
    while (buffer->copies) {
        driver_copy *copy = buffer->copies;
        buffer->copies = copy->next;
        free(copy);
    }
    free(buffer->home);
    free(buffer);
}

void driver_memory_close(driver_memory *memory)
{
    while (memory->buffers) {
        driver_buffer *buffer = memory->buffers;
        memory->buffers = buffer->next;
        free_buffer(memory, buffer);
    }
    pthread_mutex_destroy(&memory->lock);
}

static driver_buffer *new_buffer(uint64_t nbytes)
{
    driver_buffer *buffer = calloc(1, sizeof *buffer);
    if (!buffer)
        return NULL;
    buffer->nbytes = nbytes;
    buffer->home = aligned_alloc(ALIGNMENT, rounded(buffer->nbytes, ALIGNMENT));
    if (!buffer->home) {
        free(buffer);
        return NULL;
    }
    sim_poison(buffer->home, buffer->nbytes);
    buffer->home_valid = true;
    return buffer;
}

int32_t driver_memory_alloc(driver_memory *memory, uint64_t nbytes, uint64_t *address)
{
    int32_t status = XTC_OK;
    pthread_mutex_lock(&memory->lock);
    driver_buffer *buffer = NULL;
    if (nbytes && nbytes <= memory->size - memory->used)
        buffer = new_buffer(nbytes);
    if (!buffer) {
        status = xtc_fail(XTC_MEMORY,
                          "cannot allocate %llu bytes\n%llu of %llu bytes are free",
                          (unsigned long long)nbytes,
                          (unsigned long long)(memory->size - memory->used),
                          (unsigned long long)memory->size);
    } else {
        buffer->next = memory->buffers;
        memory->buffers = buffer;
        memory->used += buffer->nbytes;
        *address = (uintptr_t)buffer->home;
    }
    pthread_mutex_unlock(&memory->lock);
    return status;
}

int32_t driver_memory_free(driver_memory *memory, uint64_t address)
{
    pthread_mutex_lock(&memory->lock);
    driver_buffer **link = &memory->buffers;
    while (*link && (uintptr_t)(*link)->home != address)
        link = &(*link)->next;
    driver_buffer *buffer = *link;
    if (buffer) {
        *link = buffer->next;
        free_buffer(memory, buffer);
    }
    pthread_mutex_unlock(&memory->lock);
    return buffer ? XTC_OK
                  : xtc_fail(XTC_MEMORY, "no allocation begins at 0x%llx",
                             (unsigned long long)address);
}

static driver_copy *new_copy(driver_memory *memory, driver_buffer *buffer, uint64_t each);

int32_t driver_memory_alloc_sharded(driver_memory *memory, uint64_t nbytes, uint64_t shard_bytes,
                                    uint64_t *address)
{
    if (!shard_bytes || (nbytes + shard_bytes - 1) / shard_bytes > memory->dpus)
        return xtc_fail(XTC_USAGE, "shards of %llu of %llu bytes do not fit %u DPUs",
                        (unsigned long long)shard_bytes, (unsigned long long)nbytes, memory->dpus);
    int32_t status = driver_memory_alloc(memory, nbytes, address);
    if (status)
        return status;
    driver_buffer *buffer = driver_memory_find(memory, *address, nbytes);
    pthread_mutex_lock(&memory->lock);
    driver_copy *copy = new_copy(memory, buffer, shard_bytes);
    pthread_mutex_unlock(&memory->lock);
    if (copy)
        return XTC_OK;
    driver_memory_free(memory, *address);
    return XTC_MEMORY;
}

driver_buffer *driver_memory_find(driver_memory *memory, uint64_t address, uint64_t nbytes)
{
    pthread_mutex_lock(&memory->lock);
    driver_buffer *buffer = memory->buffers;
    while (buffer && address - (uintptr_t)buffer->home >= buffer->nbytes)
        buffer = buffer->next;
    pthread_mutex_unlock(&memory->lock);
    if (!buffer || nbytes > buffer->nbytes - (address - (uintptr_t)buffer->home)) {
        xtc_fail_outside(address, nbytes);
        return NULL;
    }
    return buffer;
}

// The lowest offset in MRAM with enough space between the copies of buffers.
static bool find_room(driver_memory *memory, uint64_t nbytes, uint32_t *offset)
{
    uint64_t at = PROGRAM_ROOM;
    bool moved = true;
    while (moved) {
        moved = false;
        for (driver_buffer *buffer = memory->buffers; buffer; buffer = buffer->next)
            for (driver_copy *copy = buffer->copies; copy; copy = copy->next)
                if (at < copy->offset + copy->here && copy->offset < at + nbytes) {
                    at = rounded(copy->offset + copy->here, GRANULE);
                    moved = true;
                }
    }
    *offset = (uint32_t)at;
    return at + nbytes <= MRAM_BYTES;
}

// Frees space by dropping copies that are no longer valid.
static void drop_invalid(driver_memory *memory)
{
    for (driver_buffer *buffer = memory->buffers; buffer; buffer = buffer->next)
        for (driver_copy **link = &buffer->copies; *link;) {
            driver_copy *copy = *link;
            if (copy->valid) {
                link = &copy->next;
            } else {
                *link = copy->next;
                free(copy);
            }
        }
}

static driver_copy *find_copy(driver_buffer *buffer, uint64_t each)
{
    driver_copy *copy = buffer->copies;
    while (copy && copy->each != each)
        copy = copy->next;
    return copy;
}

static driver_copy *new_copy(driver_memory *memory, driver_buffer *buffer, uint64_t each)
{
    uint64_t here = rounded(each ? each : buffer->nbytes, GRANULE);
    uint32_t offset;
    if (!find_room(memory, here, &offset)) {
        drop_invalid(memory);
        if (!find_room(memory, here, &offset)) {
            xtc_fail(XTC_MEMORY, "a buffer needs %llu bytes on each DPU, which has too little left",
                     (unsigned long long)here);
            return NULL;
        }
    }
    driver_copy *copy = calloc(1, sizeof *copy);
    if (!copy) {
        xtc_fail(XTC_MEMORY, "out of host memory");
        return NULL;
    }
    *copy = (driver_copy){each, here, offset, false, buffer->copies};
    buffer->copies = copy;
    return copy;
}

// Copies between the buffer and padded parts, from part `first` on.
static void pack(driver_buffer *buffer, const driver_copy *copy, uint64_t first, uint8_t *parts,
                 bool to_parts)
{
    for (uint64_t at = first * copy->each; at < buffer->nbytes; at += copy->each) {
        uint64_t left = buffer->nbytes - at, now = left < copy->each ? left : copy->each;
        if (to_parts)
            memcpy(parts, buffer->home + at, now);
        else
            memcpy(buffer->home + at, parts, now);
        parts += copy->here;
    }
}

// Parts of `each` bytes, one per DPU that has any. Parts that are not a multiple of the granule,
// and a short last part, are padded first.
static int32_t move_parts(driver_memory *memory, driver_buffer *buffer, const driver_copy *copy,
                          dpu_xfer_t direction)
{
    struct dpu_set_t dpu;
    uint32_t i;
    uint64_t count = (buffer->nbytes + copy->each - 1) / copy->each;
    uint64_t direct = copy->each == copy->here ? buffer->nbytes / copy->each : 0;
    uint8_t *padded = calloc(count - direct + 1, copy->here);
    bool is_read = direction == DPU_XFER_FROM_DPU;
    dpu_error_t error = padded ? DPU_OK : DPU_ERR_SYSTEM;
    if (padded && !is_read)
        pack(buffer, copy, direct, padded, true);
    DPU_FOREACH (memory->set, dpu, i) {
        uint8_t *part = i < direct ? buffer->home + i * copy->each
                                   : padded + (i - direct) * copy->here;
        if (error == DPU_OK && i < count)
            error = dpu_prepare_xfer(dpu, part);
    }
    if (error == DPU_OK)
        error = dpu_push_xfer(memory->set, direction, DPU_MRAM_HEAP_POINTER_NAME, copy->offset,
                              copy->here, is_read ? DPU_XFER_DEFAULT : DPU_XFER_ASYNC);
    if (error == DPU_OK && !is_read)
        error = driver_settle(memory->set);
    if (error == DPU_OK && is_read)
        pack(buffer, copy, direct, padded, false);
    free(padded);
    return driver_failed(error, is_read ? "copying from DPUs" : "copying to DPUs");
}

static int32_t broadcast(driver_memory *memory, driver_buffer *buffer, const driver_copy *copy)
{
    uint8_t *whole = buffer->home, *padded = NULL;
    if (copy->here != buffer->nbytes) {
        whole = padded = calloc(1, copy->here);
        if (!padded)
            return xtc_fail(XTC_MEMORY, "out of host memory");
        memcpy(padded, buffer->home, buffer->nbytes);
    }
    dpu_error_t error = dpu_broadcast_to(memory->set, DPU_MRAM_HEAP_POINTER_NAME, copy->offset,
                                         whole, copy->here, DPU_XFER_ASYNC);
    if (error == DPU_OK)
        error = driver_settle(memory->set);
    free(padded);
    return driver_failed(error, "copying to DPUs");
}

// A replicated copy is read from the first DPU.
static int32_t take_from_first(driver_memory *memory, driver_buffer *buffer,
                               const driver_copy *copy)
{
    struct dpu_set_t dpu;
    uint8_t *padded = calloc(1, copy->here);
    dpu_error_t error = padded ? DPU_OK : DPU_ERR_SYSTEM;
    DPU_FOREACH (memory->set, dpu) {
        if (error == DPU_OK)
            error = dpu_copy_from(dpu, DPU_MRAM_HEAP_POINTER_NAME, copy->offset, padded, copy->here);
        break;
    }
    if (error == DPU_OK)
        memcpy(buffer->home, padded, buffer->nbytes);
    free(padded);
    return driver_failed(error, "copying from DPUs");
}

int32_t driver_memory_to_host(driver_memory *memory, driver_buffer *buffer, bool writes)
{
    int32_t status = XTC_OK;
    if (!buffer->home_valid) {
        driver_copy *copy = buffer->copies;
        while (copy && !copy->valid)
            copy = copy->next;
        if (copy)
            status = copy->each ? move_parts(memory, buffer, copy, DPU_XFER_FROM_DPU)
                                : take_from_first(memory, buffer, copy);
        memory->from_device += buffer->nbytes;
        buffer->home_valid = status == XTC_OK;
    }
    for (driver_copy *copy = buffer->copies; writes && copy; copy = copy->next)
        copy->valid = false;
    return status;
}

int32_t driver_memory_to_dpus(driver_memory *memory, driver_buffer *buffer, uint64_t each,
                              bool reads, uint32_t *offset)
{
    pthread_mutex_lock(&memory->lock);
    driver_copy *copy = find_copy(buffer, each);
    if (!copy)
        copy = new_copy(memory, buffer, each);
    pthread_mutex_unlock(&memory->lock);
    if (!copy)
        return XTC_MEMORY;
    *offset = copy->offset;
    if (!reads || copy->valid)
        return XTC_OK;
    if (!buffer->home_valid)
        memory->exchanged += buffer->nbytes;
    int32_t status = driver_memory_to_host(memory, buffer, false);
    if (status)
        return status;
    status = each ? move_parts(memory, buffer, copy, DPU_XFER_TO_DPU)
                  : broadcast(memory, buffer, copy);
    memory->to_device += each ? buffer->nbytes : buffer->nbytes * memory->dpus;
    copy->valid = status == XTC_OK;
    return status;
}

void driver_memory_written(driver_buffer *buffer, uint64_t each)
{
    buffer->home_valid = false;
    for (driver_copy *copy = buffer->copies; copy; copy = copy->next)
        copy->valid = copy->each == each;
}
