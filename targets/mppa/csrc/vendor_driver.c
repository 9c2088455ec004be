// SPDX-License-Identifier: Apache-2.0
// The driver of an MPPA behind Kalray's offloading library: hardware, or the vendor's simulators.
//
// Experimental: written from uses of the library in public sources (github.com/kalray/gcc,
// libgomp/plugin/plugin-kvx.c) and tested against a stand-in, never run against the library itself.
#include "vendor_device.h"

#include <stdlib.h>
#include <string.h>

#include "vendor_config.h"
#include "xtc_error.h"

static mppa_offload_host_acc_config_t accelerator_config;

static void set_environment(const char *const *words)
{
    for (; words[0]; words += 2) {
        if (*words[1])
            setenv(words[0], words[1], 1);
        else
            unsetenv(words[0]); // an earlier device may have set it
    }
}

// The same requests as those of the compiler's offloading runtime.
static void configure(mppa_offload_host_config_t *host, const vendor_config *config)
{
    accelerator_config.board_id = 0;
    accelerator_config.cluster_id = 0;
    accelerator_config.nb_sysqueue = VENDOR_MAX_CLUSTERS;
    accelerator_config.firmware_name = (char *)config->firmware;
    memset(host, 0, sizeof *host);
    host->common.system_queue_type = MPPA_OFFLOAD_QUEUE_RPMSG;
    host->common.queue_type = MPPA_OFFLOAD_QUEUE_RPMSG;
    host->common.rdma_type = MPPA_OFFLOAD_RDMA_PCIE;
    host->image_type = MPPA_OFFLOAD_IMAGE_PATH;
    host->boot_mode = MPPA_OFFLOAD_BOOT_MODE_DEFAULT;
    host->nb_accelerators = 1;
    host->accelerator_configs = &accelerator_config;
}

static int32_t find_queues(xtc_device *device)
{
    device->accelerator = mppa_offload_get_accelerator(&device->context, 0);
    if (!device->accelerator)
        return xtc_fail(XTC_NOT_FOUND, "mppa_offload_get_accelerator failed");
    for (uint32_t cluster = 0; cluster < device->clusters; cluster++) {
        device->queues[cluster] = mppa_offload_get_sysqueue(device->accelerator, cluster);
        if (!device->queues[cluster])
            return xtc_fail(XTC_NOT_FOUND, "mppa_offload_get_sysqueue failed for %u", cluster);
    }
    return XTC_OK;
}

static int32_t allocate(xtc_device *device, uint64_t nbytes, xtc_allocation *block)
{
    block->nbytes = nbytes;
    if (nbytes == 0 ||
        mppa_offload_alloc(device->queues[0], nbytes, device->alignment, MPPA_OFFLOAD_ALLOC_DDR,
                           &block->address, &block->physical))
        return xtc_fail(XTC_MEMORY, "cannot allocate %llu bytes", (unsigned long long)nbytes);
    return xtc_allocations_add(&device->memory, *block);
}

static int32_t prepare(xtc_device *device)
{
    int32_t status = find_queues(device);
    if (!status)
        status = allocate(device, VENDOR_MAX_ARGUMENTS * sizeof(uint64_t), &device->arguments);
    if (!status)
        status = allocate(device, sizeof(struct mppa_offload_buffer_exec_cmd), &device->call);
    device->own_bytes = device->memory.used;
    return status;
}

static int32_t open_device(const void *given, xtc_device **opened)
{
    const vendor_config *config = given;
    mppa_offload_host_config_t host;
    if (xtc_device_check_config(config, sizeof *config))
        return XTC_USAGE;
    if (config->clusters > VENDOR_MAX_CLUSTERS)
        return xtc_fail(XTC_USAGE, "the driver knows %d clusters, not %u", VENDOR_MAX_CLUSTERS,
                        config->clusters);
    xtc_device *device = calloc(1, sizeof *device);
    if (!device)
        return xtc_fail(XTC_NOT_FOUND, "out of host memory");
    device->clusters = config->clusters;
    device->alignment = config->alignment;
    xtc_allocations_open(&device->memory);
    set_environment(config->environment);
    configure(&host, config);
    if (mppa_offload_create(&device->context, &host)) {
        xtc_allocations_close(&device->memory);
        free(device);
        return xtc_fail(XTC_NOT_FOUND, "mppa_offload_create failed\nfirmware: %s", config->firmware);
    }
    int32_t status = prepare(device);
    if (status) {
        mppa_offload_destroy(&device->context);
        xtc_allocations_close(&device->memory);
        free(device);
        return status == XTC_MEMORY ? XTC_NOT_FOUND : status;
    }
    xtc_engine_open(&device->engine, &vendor_ops);
    *opened = device;
    return XTC_OK;
}

static int32_t close_device(xtc_device *device)
{
    if (mppa_offload_destroy(&device->context))
        return xtc_fail(XTC_LOST, "mppa_offload_destroy failed");
    return XTC_OK;
}

static void release(xtc_device *device)
{
    xtc_allocations_close(&device->memory);
    free(device);
}

static int32_t alloc(xtc_device *device, uint64_t nbytes, xtc_address *address)
{
    xtc_allocation block = {.address = 0};
    int32_t status = allocate(device, nbytes, &block);
    *address = status ? 0 : block.address;
    return status;
}

static int32_t free_memory(xtc_device *device, xtc_address address)
{
    int32_t status = xtc_allocations_remove(&device->memory, address);
    if (!status && mppa_offload_free(device->queues[0], MPPA_OFFLOAD_ALLOC_DDR, address))
        status = xtc_fail(XTC_LOST, "mppa_offload_free failed");
    return status;
}

static int32_t span(xtc_device *device, xtc_address address, xtc_address *start, uint64_t *nbytes)
{
    xtc_allocation found = {.address = 0};
    int32_t status = xtc_allocations_find(&device->memory, address, 1, &found);
    *start = found.address;
    *nbytes = found.nbytes;
    return status;
}

static int32_t memory(xtc_device *device, uint64_t *used, uint64_t *size)
{
    *used = device->memory.used - device->own_bytes;
    *size = 0; // the library does not report it
    return XTC_OK;
}

static int32_t counters(xtc_device *device, uint32_t *count, const char *const **names,
                        uint64_t *values)
{
    (void)device;
    (void)values;
    *count = 0;
    *names = NULL;
    return XTC_OK;
}

const xtc_device_ops xtc_device_own = {
    .open = open_device,
    .close = close_device,
    .release = release,
    .alloc = alloc,
    .free = free_memory,
    .span = span,
    .memory = memory,
    .load = vendor_load,
    .unload = vendor_unload,
    .function = vendor_function,
    .counters = counters,
};
