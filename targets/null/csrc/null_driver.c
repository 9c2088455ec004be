// SPDX-License-Identifier: Apache-2.0
// The driver of the null device: memory and kernels are in this process.
#include <stdlib.h>
#include <string.h>

#include "null_code.h"
#include "null_kernel.h"
#include "null_memory.h"
#include "xtc_device.h"
#include "xtc_error.h"

enum { LAUNCHES, TO_DEVICE, FROM_DEVICE, WITHIN, COUNTERS };

static const char *const counter_names[COUNTERS] = {"null.LAUNCHES", "null.H2D_BYTES",
                                                    "null.D2H_BYTES", "null.D2D_BYTES"};

typedef struct {
    uint64_t nbytes; // of this structure
    uint64_t memory_bytes;
} null_config;

struct xtc_device {
    xtc_engine engine; // the first, for xtc_engine_of
    null_memory memory;
    null_module *code;
    null_runner runner;
    _Atomic uint64_t counts[COUNTERS];
};

static int32_t check_range(xtc_device *device, xtc_address address, uint64_t nbytes)
{
    xtc_address start;
    uint64_t size;
    if (null_code_has_data(device->code, address, nbytes))
        return XTC_OK;
    return nbytes ? null_memory_find(&device->memory, address, nbytes, &start, &size) : XTC_OK;
}

static int32_t run(xtc_device *device, const xtc_command *command)
{
    static const int counter[] = {
        [XTC_COPY_TO] = TO_DEVICE, [XTC_COPY_FROM] = FROM_DEVICE, [XTC_COPY_WITHIN] = WITHIN};
    uint64_t nbytes = command->nbytes;
    if (command->kind != XTC_COPY_FROM && check_range(device, command->destination, nbytes))
        return XTC_MEMORY;
    if (command->kind != XTC_COPY_TO && command->kind != XTC_FILL &&
        check_range(device, command->source, nbytes))
        return XTC_MEMORY;
    void *to = (void *)(uintptr_t)command->destination;
    if (command->kind == XTC_FILL) {
        memset(to, (int)command->byte, nbytes);
        return XTC_OK;
    }
    memmove(to, (const void *)(uintptr_t)command->source, nbytes);
    device->counts[counter[command->kind]] += nbytes;
    return XTC_OK;
}

static int32_t start(xtc_device *device, const xtc_command *command)
{
    null_kernel *kernel = (null_kernel *)(uintptr_t)command->function;
    int32_t status = null_runner_run(&device->runner, kernel, &command->launch);
    if (!status)
        device->counts[LAUNCHES]++;
    return status;
}

static int32_t finish(xtc_device *device)
{
    (void)device; // a started kernel is already done
    return XTC_OK;
}

static const xtc_engine_ops ops = {run, start, finish, .max_started = 1,
                                   .max_arguments = UINT32_MAX, .has_grid = true};

static int32_t open_device(const void *given, xtc_device **opened)
{
    const null_config *config = given;
    if (xtc_device_check_config(config, sizeof *config))
        return XTC_USAGE;
    xtc_device *device = calloc(1, sizeof *device);
    if (!device)
        return xtc_fail(XTC_NOT_FOUND, "out of host memory");
    null_memory_open(&device->memory, config->memory_bytes);
    null_runner_open(&device->runner);
    xtc_engine_open(&device->engine, &ops);
    *opened = device;
    return XTC_OK;
}

static void stop(xtc_device *device)
{
    null_runner_stop(&device->runner);
}

static void release(xtc_device *device)
{
    while (device->code)
        null_code_unload(&device->code, (uintptr_t)device->code);
    null_memory_close(&device->memory);
    free(device);
}

static int32_t alloc(xtc_device *device, uint64_t nbytes, xtc_address *address)
{
    return null_memory_alloc(&device->memory, nbytes, address);
}

static int32_t free_memory(xtc_device *device, xtc_address address)
{
    return null_memory_free(&device->memory, address);
}

static int32_t span(xtc_device *device, xtc_address address, xtc_address *start, uint64_t *nbytes)
{
    return null_memory_find(&device->memory, address, 1, start, nbytes);
}

static int32_t memory(xtc_device *device, uint64_t *used, uint64_t *size)
{
    *used = device->memory.used;
    *size = device->memory.size;
    return XTC_OK;
}

static int32_t load(xtc_device *device, const void *image, uint64_t nbytes, xtc_module *module)
{
    return null_code_load(&device->code, image, nbytes, module);
}

static int32_t unload(xtc_device *device, xtc_module module)
{
    return null_code_unload(&device->code, module);
}

static int32_t function(xtc_device *device, xtc_module module, const char *name,
                        xtc_function *found)
{
    return null_code_function(&device->code, module, name, found);
}

static int32_t data(xtc_device *device, xtc_module module, const char *name, xtc_address *address,
                    uint64_t *nbytes)
{
    return null_code_data(&device->code, module, name, address, nbytes);
}

static int32_t counters(xtc_device *device, uint32_t *count, const char *const **names,
                        uint64_t *values)
{
    *count = COUNTERS;
    *names = counter_names;
    for (int i = 0; values && i < COUNTERS; i++)
        values[i] = device->counts[i];
    return XTC_OK;
}

const xtc_device_ops xtc_device_own = {
    .open = open_device,
    .stop = stop,
    .release = release,
    .alloc = alloc,
    .free = free_memory,
    .span = span,
    .memory = memory,
    .load = load,
    .unload = unload,
    .function = function,
    .data = data,
    .counters = counters,
};
