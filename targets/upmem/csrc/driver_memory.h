// SPDX-License-Identifier: Apache-2.0
// Buffers on DPUs. A buffer has a home on the host and copies in the DPUs' MRAM, one per sharding
// that kernels need. Data that is written to one copy is transferred to another when needed,
// through the host, and counted.
#ifndef DRIVER_MEMORY_H
#define DRIVER_MEMORY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "dpu.h"

typedef struct driver_copy {
    uint64_t each; // bytes on each DPU; 0: the whole buffer is on every DPU
    uint64_t here; // allocated bytes on each DPU
    uint32_t offset; // in MRAM
    bool valid;
    struct driver_copy *next;
} driver_copy;

typedef struct driver_buffer {
    uint8_t *home; // the contents on the host; also the address
    uint64_t nbytes;
    bool home_valid;
    driver_copy *copies;
    struct driver_buffer *next;
} driver_buffer;

typedef struct {
    pthread_mutex_t lock;
    struct dpu_set_t set;
    uint32_t dpus;
    uint64_t used, size; // of all DPUs' MRAM
    driver_buffer *buffers;
    uint64_t to_device, from_device, exchanged; // bytes; the last between kernels, through the host
} driver_memory;

void driver_memory_open(driver_memory *memory, struct dpu_set_t set, uint32_t dpus);
void driver_memory_close(driver_memory *memory);
int32_t driver_memory_alloc(driver_memory *memory, uint64_t nbytes, uint64_t *address);
// The same, with room on each DPU for a shard of `shard_bytes`. Data is sent when a kernel reads
// it, because copies need a program on the DPUs.
int32_t driver_memory_alloc_sharded(driver_memory *memory, uint64_t nbytes, uint64_t shard_bytes,
                                    uint64_t *address);
int32_t driver_memory_free(driver_memory *memory, uint64_t address);
// The buffer that contains `nbytes` at an address, or NULL with a message.
driver_buffer *driver_memory_find(driver_memory *memory, uint64_t address, uint64_t nbytes);
// Makes the home valid for reading, or with `writes` for changing.
int32_t driver_memory_to_host(driver_memory *memory, driver_buffer *buffer, bool writes);
// Provides the copy with the sharding that a kernel needs, valid if the kernel reads it; returns
// its offset in MRAM.
int32_t driver_memory_to_dpus(driver_memory *memory, driver_buffer *buffer, uint64_t each,
                              bool reads, uint32_t *offset);
// A kernel has written the copy.
void driver_memory_written(driver_buffer *buffer, uint64_t each);

// Waits for the jobs of all ranks. Each rank has a queue of jobs, so that one rank copies while
// another computes; reads by the host wait for all. Returns the status of the jobs.
dpu_error_t driver_settle(struct dpu_set_t set);

// A status with a message for a failed call.
int32_t driver_failed(dpu_error_t error, const char *what);

#endif
