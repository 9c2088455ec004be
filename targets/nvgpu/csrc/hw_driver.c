// SPDX-License-Identifier: Apache-2.0
// The driver of a GPU behind NVIDIA's driver, which is loaded when a device is opened.
#include <stdlib.h>
#include <string.h>

#include "hw_device.h"
#include "xtc_error.h"

int32_t hw_check(xtc_device *device)
{
    if (xtc_engine_check(&device->engine))
        return XTC_LOST;
    if (device->lost)
        return xtc_fail(XTC_LOST, "the device has stopped: %.900s", device->failure);
    return XTC_OK;
}

int32_t hw_lose(xtc_device *device, int32_t status)
{
    if (!device->lost) {
        memcpy(device->failure, xtc_message(), sizeof device->failure);
        device->lost = true;
    }
    return status;
}

int32_t hw_status(xtc_device *device, hw_result result, int32_t otherwise, const char *what)
{
    if (result == 0)
        return XTC_OK;
    int32_t status = hw_api_failed(&device->api, result, otherwise, what);
    bool ends = status == XTC_FAULT || status == XTC_TIMEOUT || status == XTC_LOST;
    return ends ? hw_lose(device, status) : status;
}

static int32_t open_device(const void *given, xtc_device **opened)
{
    const hw_config *config = given;
    if (xtc_device_check_config(config, sizeof *config))
        return XTC_USAGE;
    xtc_device *device = calloc(1, sizeof *device);
    if (!device)
        return xtc_fail(XTC_NOT_FOUND, "out of host memory");
    int32_t status = hw_api_load(&device->api, config->library);
    if (!status)
        status = hw_find_gpu(device, config);
    if (!status)
        status = hw_clear_left(device->number);
    if (!status)
        status = hw_context_open(device);
    if (status) {
        free(device);
        return status == XTC_USAGE ? status : XTC_NOT_FOUND;
    }
    device->timeout_s = config->timeout_s;
    xtc_allocations_open(&device->memory);
    xtc_engine_open(&device->engine, &hw_ops);
    *opened = device;
    return XTC_OK;
}

static int32_t close_device(xtc_device *device)
{
    hw_close(device);
    return XTC_OK;
}

void hw_free(xtc_device *device)
{
    xtc_allocations_close(&device->memory);
    free(device);
}

static int32_t alloc(xtc_device *device, uint64_t nbytes, xtc_address *address)
{
    if (nbytes == 0)
        return xtc_fail(XTC_MEMORY, "cannot allocate 0 bytes");
    int32_t status = hw_enter(device);
    if (status)
        return status;
    status = hw_status(device, device->api.alloc(address, nbytes), XTC_MEMORY, "an allocation");
    if (!status && xtc_allocations_add(&device->memory, (xtc_allocation){.address = *address, .nbytes = nbytes})) {
        device->api.free(*address);
        status = XTC_MEMORY;
    }
    hw_leave(device);
    return status;
}

static int32_t free_memory(xtc_device *device, xtc_address address)
{
    int32_t status = xtc_allocations_remove(&device->memory, address);
    if (!status)
        status = hw_enter(device);
    if (status)
        return status;
    status = hw_status(device, device->api.free(address), XTC_MEMORY, "freeing memory");
    hw_leave(device);
    return status;
}

static int32_t span(xtc_device *device, xtc_address address, xtc_address *start, uint64_t *nbytes)
{
    xtc_allocation found = {.address = 0};
    int32_t status = XTC_OK;
    if (xtc_allocations_find(&device->memory, address, 1, &found))
        status = hw_find_foreign(device, address, 1, &found);
    *start = found.address;
    *nbytes = found.nbytes;
    return status;
}

static int32_t memory(xtc_device *device, uint64_t *used, uint64_t *size)
{
    size_t nbytes = 0;
    int32_t status = hw_status(device, device->api.device_memory(&nbytes, device->number),
                               XTC_LOST, "cuDeviceTotalMem");
    *used = status ? 0 : device->memory.used;
    *size = nbytes;
    return status;
}

static int32_t counters(xtc_device *device, uint32_t *count, const char *const **names,
                        uint64_t *values)
{
    static const char *const all[] = {XTC_COPY_NAMES("nvgpu."), "nvgpu.LAUNCHES", "nvgpu.BLOCKS",
                                      "nvgpu.THREADS"};
    *count = sizeof all / sizeof *all;
    *names = all;
    if (!values)
        return XTC_OK;
    values = xtc_copies_values(&device->copied, values);
    *values++ = device->counts.launches;
    *values++ = device->counts.blocks;
    *values++ = device->counts.threads;
    return XTC_OK;
}

const xtc_device_ops xtc_device_own = {
    .open = open_device,
    .close = close_device,
    .release = hw_release,
    .check = hw_check,
    .alloc = alloc,
    .free = free_memory,
    .span = span,
    .memory = memory,
    .load = hw_load,
    .unload = hw_unload,
    .function = hw_function_of,
    .data = hw_data_of,
    .streams = &hw_streams,
    .counters = counters,
};
