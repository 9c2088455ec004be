// SPDX-License-Identifier: Apache-2.0
// Copies, launches and device code with Kalray's offloading library. Experimental, see
// vendor_driver.c.
#include <stdlib.h>
#include <string.h>

#include "vendor_device.h"
#include "xtc_error.h"

// The physical address of a range of bytes, which must be inside one allocation.
static int32_t find(xtc_device *device, xtc_address address, uint64_t nbytes, uint64_t *physical)
{
    xtc_allocation found = {.address = address};
    int32_t status = xtc_allocations_find(&device->memory, address, nbytes, &found);
    *physical = found.physical + (address - found.address);
    return status;
}

static int32_t write_to(xtc_device *device, xtc_address address, const void *from, uint64_t nbytes)
{
    uint64_t physical;
    if (find(device, address, nbytes, &physical))
        return XTC_MEMORY;
    if (nbytes && mppa_offload_write(device->accelerator, from, physical, nbytes, NULL))
        return xtc_fail(XTC_LOST, "mppa_offload_write failed");
    return XTC_OK;
}

static int32_t read_from(xtc_device *device, void *to, xtc_address address, uint64_t nbytes)
{
    uint64_t physical;
    if (find(device, address, nbytes, &physical))
        return XTC_MEMORY;
    if (nbytes && mppa_offload_read(device->accelerator, to, physical, nbytes, NULL))
        return xtc_fail(XTC_LOST, "mppa_offload_read failed");
    return XTC_OK;
}

// The library neither fills nor copies within the device.
static int32_t run_through_host(xtc_device *device, const xtc_command *command)
{
    int32_t status = XTC_OK;
    char *bytes = malloc(command->nbytes + 1);
    if (!bytes)
        return xtc_fail(XTC_MEMORY, "out of host memory");
    if (command->kind == XTC_FILL)
        memset(bytes, (int)command->byte, command->nbytes);
    else
        status = read_from(device, bytes, command->source, command->nbytes);
    if (status == XTC_OK)
        status = write_to(device, command->destination, bytes, command->nbytes);
    free(bytes);
    return status;
}

static int32_t run(xtc_device *device, const xtc_command *command)
{
    if (command->kind == XTC_COPY_TO)
        return write_to(device, command->destination, (void *)(uintptr_t)command->source,
                        command->nbytes);
    if (command->kind == XTC_COPY_FROM)
        return read_from(device, (void *)(uintptr_t)command->destination, command->source,
                         command->nbytes);
    return run_through_host(device, command);
}

typedef struct {
    xtc_device *device;
    uint32_t cluster;
    int error;
} cluster_run;

static void *run_on_cluster(void *data)
{
    cluster_run *run = data;
    run->error = mppa_offload_buffer_exec(run->device->queues[run->cluster], 1,
                                          run->device->call.address, 1, 1, true, true, NULL);
    return NULL;
}

// The library's call waits for the kernel, so each cluster has a thread.
static int32_t run_on_clusters(xtc_device *device)
{
    cluster_run runs[VENDOR_MAX_CLUSTERS];
    pthread_t threads[VENDOR_MAX_CLUSTERS];
    uint32_t started = 0;
    int32_t status = XTC_OK;
    for (; started < device->clusters; started++) {
        runs[started] = (cluster_run){device, started, 0};
        if (pthread_create(&threads[started], NULL, run_on_cluster, &runs[started]))
            break;
    }
    if (started < device->clusters)
        status = xtc_fail(XTC_LAUNCH, "no thread for cluster %u", started);
    for (uint32_t cluster = 0; cluster < started; cluster++) {
        pthread_join(threads[cluster], NULL);
        if (runs[cluster].error)
            status = xtc_fail(XTC_FAULT, "the kernel failed on cluster %u", cluster);
    }
    return status;
}

static int32_t start(xtc_device *device, const xtc_command *command)
{
    struct mppa_offload_buffer_exec_cmd call;
    memset(&call, 0, sizeof call);
    call.virt_func_ptr = command->function;
    call.virt_arg_ptr = device->arguments.address;
    int32_t status = write_to(device, device->arguments.address, command->arguments,
                              command->launch.count * sizeof *command->arguments);
    if (status == XTC_OK)
        status = write_to(device, device->call.address, &call, sizeof call);
    return status == XTC_OK ? run_on_clusters(device) : status;
}

// start() already waits.
static int32_t finish(xtc_device *device)
{
    (void)device;
    return XTC_OK;
}

const xtc_engine_ops vendor_ops = {run, start, finish, 1, VENDOR_MAX_ARGUMENTS, false};

// The image passes through a buffer in device memory.
int32_t vendor_load(xtc_device *device, const void *image, uint64_t nbytes, xtc_module *module)
{
    uint64_t address, physical;
    if (mppa_offload_alloc(device->queues[0], nbytes, device->alignment, MPPA_OFFLOAD_ALLOC_DDR,
                           &address, &physical))
        return xtc_fail(XTC_MEMORY, "no device memory for an image of %llu bytes",
                        (unsigned long long)nbytes);
    int error = mppa_offload_acc_load(device->accelerator, (void *)image, nbytes, 0, address,
                                      physical, module);
    mppa_offload_free(device->queues[0], MPPA_OFFLOAD_ALLOC_DDR, address);
    return error ? xtc_fail(XTC_IMAGE, "the image cannot be loaded") : XTC_OK;
}

int32_t vendor_unload(xtc_device *device, xtc_module module)
{
    if (mppa_offload_acc_unload(device->accelerator, module, 0))
        return xtc_fail(XTC_LAUNCH, "the module is not loaded");
    return XTC_OK;
}

int32_t vendor_function(xtc_device *device, xtc_module module, const char *name,
                        xtc_function *function)
{
    if (mppa_offload_query_symbol(device->queues[0], module, name, function))
        return xtc_fail(XTC_LAUNCH, "the module has no function '%s'", name);
    return XTC_OK;
}
