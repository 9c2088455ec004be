// SPDX-License-Identifier: Apache-2.0
// The driver of the null device: memory of this process, kernels called by the thread at hand.
#include <stdlib.h>
#include <string.h>

#include "null_code.h"
#include "null_memory.h"
#include "xtc_engine.h"
#include "xtc_error.h"

enum { LAUNCHES, TO_DEVICE, FROM_DEVICE, WITHIN, COUNTERS };

static const char *const counter_names[COUNTERS] = {"launches", "bytes_to_device",
                                                    "bytes_from_device", "bytes_within_device"};

typedef struct {
    uint64_t nbytes; // of this structure
    uint64_t memory_bytes;
} null_config;

struct xtc_device {
    xtc_engine engine; // the first, for xtc_engine_of
    null_memory memory;
    _Atomic uint64_t counts[COUNTERS];
};

xtc_engine *xtc_engine_of(xtc_device *device)
{
    return &device->engine;
}

static int32_t check_range(xtc_device *device, xtc_address address, uint64_t nbytes)
{
    xtc_address start;
    uint64_t size;
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
    const xtc_launch *launch = &command->launch;
    uint32_t grid[3] = {launch->grid[0], launch->grid[1], launch->grid[2]}, block[3];
    if (!grid[0])
        grid[0] = grid[1] = grid[2] = 1;
    for (block[2] = 0; block[2] < grid[2]; block[2]++)
        for (block[1] = 0; block[1] < grid[1]; block[1]++)
            for (block[0] = 0; block[0] < grid[0]; block[0]++)
                ((null_kernel *)(uintptr_t)command->function)(command->arguments, block);
    device->counts[LAUNCHES]++;
    return XTC_OK;
}

static int32_t finish(xtc_device *device)
{
    (void)device; // a kernel that was started is done
    return XTC_OK;
}

static const xtc_engine_ops ops = {run, start, finish, .max_started = 1,
                                   .max_arguments = UINT32_MAX, .has_grid = true};

static int32_t open_device(const void *given, xtc_device **opened)
{
    const null_config *config = given;
    if (config->nbytes != sizeof *config)
        return xtc_fail(XTC_USAGE, "the configuration has %llu bytes, not %zu",
                        (unsigned long long)config->nbytes, sizeof *config);
    xtc_device *device = calloc(1, sizeof *device);
    if (!device)
        return xtc_fail(XTC_NOT_FOUND, "out of host memory");
    null_memory_open(&device->memory, config->memory_bytes);
    xtc_engine_open(&device->engine, &ops);
    *opened = device;
    return XTC_OK;
}

static int32_t close_device(xtc_device *device)
{
    if (xtc_engine_check(&device->engine))
        return XTC_LOST;
    if (xtc_engine_runs_here(&device->engine))
        return xtc_fail(XTC_USAGE, "a callback cannot close its device");
    xtc_engine_close(device);
    return XTC_OK;
}

static void release_device(xtc_device *device)
{
    xtc_engine_release(&device->engine);
    null_memory_close(&device->memory);
    free(device);
}

static int32_t alloc(xtc_device *device, xtc_queue queue, uint64_t nbytes, xtc_address *address)
{
    *address = 0;
    int32_t status = xtc_engine_check(&device->engine);
    if (!status)
        status = null_memory_alloc(&device->memory, nbytes, address);
    return xtc_engine_stop(device, queue, status);
}

static int32_t free_memory(xtc_device *device, xtc_address address)
{
    int32_t status = xtc_engine_check(&device->engine);
    return status ? status : null_memory_free(&device->memory, address);
}

static int32_t span(xtc_device *device, xtc_address address, xtc_address *start, uint64_t *nbytes)
{
    *start = *nbytes = 0;
    int32_t status = xtc_engine_check(&device->engine);
    return status ? status : null_memory_find(&device->memory, address, 1, start, nbytes);
}

static int32_t memory(xtc_device *device, uint64_t *used, uint64_t *size)
{
    *used = device->memory.used;
    *size = device->memory.size;
    return xtc_engine_check(&device->engine);
}

static int32_t load(xtc_device *device, const void *image, uint64_t nbytes, xtc_module *module)
{
    int32_t status = xtc_engine_check(&device->engine);
    return status ? status : null_code_load(image, nbytes, module);
}

static int32_t do_unload(void *module)
{
    null_code_unload((xtc_module)(uintptr_t)module);
    return XTC_OK;
}

static int32_t unload(xtc_device *device, xtc_module module)
{
    // When all commands given so far are done: one of them may be a kernel of it.
    return xtc_engine_call(device, do_unload, (void *)(uintptr_t)module);
}

static int32_t symbol(xtc_device *device, xtc_module module, const char *name,
                      xtc_function *function)
{
    int32_t status = xtc_engine_check(&device->engine);
    return status ? status : null_code_symbol(module, name, function);
}

static int32_t counters(xtc_device *device, uint32_t *count, const char *const **names,
                        uint64_t *values)
{
    *count = COUNTERS;
    *names = counter_names;
    for (int i = 0; values && i < COUNTERS; i++)
        values[i] = device->counts[i];
    return xtc_engine_check(&device->engine);
}

static const xtc_driver table = {
    .version = XTC_DRIVER_VERSION,
    .nbytes = sizeof table,
    XTC_ENGINE_MEMBERS,
    .open = open_device,
    .close = close_device,
    .release = release_device,
    .alloc = alloc,
    .free = free_memory,
    .span = span,
    .memory = memory,
    .load = load,
    .unload = unload,
    .symbol = symbol,
    .counters = counters,
};

const xtc_driver *xtc_driver_table(void)
{
    return &table;
}
