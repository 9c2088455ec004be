// SPDX-License-Identifier: Apache-2.0
// The driver table of a device: shared code around device-specific functions.
#ifndef XTC_DEVICE_H
#define XTC_DEVICE_H

#include "xtc_engine.h"

// The device-specific functions. They return a status and set this thread's message; those marked
// "may be NULL" are optional. A device begins with its engine, which `open` opens.
typedef struct {
    int32_t (*open)(const void *config, xtc_device **device);
    // To close a device, first make its kernels end (may be NULL), then, without commands, close
    // it.
    void (*stop)(xtc_device *device);
    int32_t (*close)(xtc_device *device);
    void (*release)(xtc_device *device); // free it
    // XTC_LOST if the device is unusable. May be NULL. Called before all functions below.
    int32_t (*check)(xtc_device *device);

    int32_t (*alloc)(xtc_device *device, uint64_t nbytes, xtc_address *address);
    int32_t (*free)(xtc_device *device, xtc_address address);
    int32_t (*span)(xtc_device *device, xtc_address address, xtc_address *start, uint64_t *nbytes);
    int32_t (*memory)(xtc_device *device, uint64_t *used, uint64_t *size);
    // For a device with several memories; both may be NULL for a single memory.
    uint32_t (*memories)(const xtc_device *device);
    int32_t (*alloc_sharded)(xtc_device *device, uint64_t nbytes, uint64_t shard_bytes,
                             xtc_address *address);

    // Called when all earlier commands are done.
    int32_t (*load)(xtc_device *device, const void *image, uint64_t nbytes, xtc_module *module);
    int32_t (*unload)(xtc_device *device, xtc_module module);
    int32_t (*function)(xtc_device *device, xtc_module module, const char *name,
                        xtc_function *function);
    int32_t (*data)(xtc_device *device, xtc_module module, const char *name, xtc_address *address,
                    uint64_t *nbytes); // may be NULL if images have no named data

    const xtc_streams *streams; // may be NULL

    // Also for a lost device.
    int32_t (*counters)(xtc_device *device, uint32_t *count, const char *const **names,
                        uint64_t *values);
} xtc_device_ops;

extern const xtc_device_ops xtc_device_own; // defined by the driver

// Check the version of a configuration by its size, which is its first member.
int32_t xtc_device_check_config(const void *config, uint64_t nbytes);

#endif
