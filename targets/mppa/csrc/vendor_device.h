// SPDX-License-Identifier: Apache-2.0
// The state of an MPPA behind Kalray's offloading library, shared by the files of its driver.
#ifndef VENDOR_DEVICE_H
#define VENDOR_DEVICE_H

#include <stdbool.h>

#include <mppa_offload_host.h>

#include "vendor_config.h"
#include "xtc_allocations.h"
#include "xtc_device.h"

#define VENDOR_MAX_ARGUMENTS 64

struct xtc_device {
    xtc_engine engine; // the first, for xtc_engine_of
    mppa_offload_host_context_t context;
    mppa_offload_accelerator_t *accelerator;
    mppa_offload_sysqueue_t *queues[VENDOR_MAX_CLUSTERS]; // each runs code on its cluster
    uint32_t clusters, alignment;
    xtc_allocations memory;
    xtc_allocation arguments, call; // of a launch, in device memory
    uint64_t own_bytes;             // bytes of these two
};

// vendor_commands.c
extern const xtc_engine_ops vendor_ops;
int32_t vendor_load(xtc_device *device, const void *image, uint64_t nbytes, xtc_module *module);
int32_t vendor_unload(xtc_device *device, xtc_module module);
int32_t vendor_function(xtc_device *device, xtc_module module, const char *name,
                        xtc_function *function);

#endif
