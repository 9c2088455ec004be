// SPDX-License-Identifier: Apache-2.0
#include "sim_driver.h"

#include <stdlib.h>
#include <string.h>

#include "sim_memory.h"
#include "xtc_engine.h"
#include "xtc_error.h"

struct xtc_device {
    xtc_engine engine; // the first, for xtc_engine_of
    sim_host sim;
    sim_memory memory;
    xtc_copies copies;
    sim_counter_names *names;
};

xtc_engine *xtc_engine_of(xtc_device *device)
{
    return &device->engine;
}

static int32_t run(xtc_device *device, const xtc_command *command)
{
    void *to, *from;
    uint64_t nbytes = command->nbytes;
    sim_memory *memory = &device->memory;
    if (sim_host_check(&device->sim))
        return XTC_LOST;
    if (command->kind == XTC_COPY_FROM)
        to = (void *)(uintptr_t)command->destination;
    else if (sim_memory_view(memory, command->destination, nbytes, &to))
        return XTC_MEMORY;
    if (command->kind == XTC_FILL) {
        memset(to, (int)command->byte, nbytes);
        return XTC_OK;
    }
    if (command->kind == XTC_COPY_TO)
        from = (void *)(uintptr_t)command->source;
    else if (sim_memory_view(memory, command->source, nbytes, &from))
        return XTC_MEMORY;
    memmove(to, from, nbytes);
    xtc_copies_count(&device->copies, command->kind, nbytes);
    return XTC_OK;
}

static int32_t start(xtc_device *device, const xtc_command *command)
{
    return sim_host_start_kernel(&device->sim, command->function, &command->launch);
}

static int32_t finish(xtc_device *device)
{
    return sim_host_finish_kernel(&device->sim);
}

static xtc_engine_ops ops = {run, start, finish, SIM_RING, SIM_ARGUMENTS, false};

static int32_t start_simulator(xtc_device *device, const void *config, const char *executable)
{
    void *block = sim_host_block(&device->sim);
    sim_driver_target_ops.fill(config, block);
    device->names = sim_driver_target_ops.names(block);
    if (!device->names)
        return xtc_fail(XTC_NOT_FOUND, "out of host memory");
    return sim_host_start(&device->sim, executable);
}

static int32_t open_device(const void *config, xtc_device **opened)
{
    sim_options options;
    const char *executable;
    int32_t status = sim_driver_target_ops.configure(config, &options, &executable);
    if (status)
        return status;
    xtc_device *device = calloc(1, sizeof *device);
    if (!device)
        return xtc_fail(XTC_NOT_FOUND, "out of host memory");
    status = sim_host_open(&device->sim, &options);
    if (status) {
        free(device);
        return status;
    }
    status = start_simulator(device, config, executable);
    if (status) {
        free(device->names);
        sim_host_release(&device->sim);
        free(device);
        return status;
    }
    sim_memory_open(&device->memory, &device->sim);
    ops.has_grid = sim_driver_target_ops.has_grid;
    xtc_engine_open(&device->engine, &ops);
    *opened = device;
    return XTC_OK;
}

static int32_t close_device(xtc_device *device)
{
    if (xtc_engine_check(&device->engine))
        return XTC_LOST; // closed, or the child of a fork, whose parent goes on with it
    sim_host_stop(&device->sim);
    if (xtc_engine_runs_here(&device->engine))
        return xtc_fail(XTC_USAGE, "a callback cannot close its device");
    xtc_engine_close(device);
    return XTC_OK;
}

static void release_device(xtc_device *device)
{
    xtc_engine_release(&device->engine);
    sim_memory_close(&device->memory);
    sim_host_release(&device->sim);
    free(device->names);
    free(device);
}

static int32_t check(xtc_device *device)
{
    if (xtc_engine_check(&device->engine))
        return XTC_LOST;
    return sim_host_check(&device->sim);
}

static int32_t alloc(xtc_device *device, xtc_queue queue, uint64_t nbytes, xtc_address *address)
{
    *address = 0;
    int32_t status = check(device);
    if (!status)
        status = sim_memory_alloc(&device->memory, nbytes, address);
    return xtc_engine_stop(device, queue, status);
}

static int32_t free_memory(xtc_device *device, xtc_address address)
{
    return check(device) ? XTC_LOST : sim_memory_free(&device->memory, address);
}

static int32_t span(xtc_device *device, xtc_address address, xtc_address *start, uint64_t *nbytes)
{
    sim_span found = {0, 0};
    int32_t status = check(device);
    if (!status)
        status = sim_memory_span(&device->memory, address, &found);
    *start = found.address;
    *nbytes = found.nbytes;
    return status;
}

static int32_t memory(xtc_device *device, uint64_t *used, uint64_t *size)
{
    *used = *size = 0;
    if (check(device))
        return XTC_LOST;
    *used = sim_memory_used(&device->memory);
    *size = device->memory.nbytes;
    return XTC_OK;
}

typedef struct {
    sim_host *sim;
    const void *image;
    const char *name;
    uint64_t nbytes, module, result;
} request;

static int32_t do_load(void *data)
{
    request *one = data;
    return sim_host_load(one->sim, one->image, one->nbytes, &one->result);
}

static int32_t load(xtc_device *device, const void *image, uint64_t nbytes, xtc_module *module)
{
    request one = {.sim = &device->sim, .image = image, .nbytes = nbytes};
    int32_t status = xtc_engine_call(device, do_load, &one);
    *module = one.result;
    return status;
}

static int32_t do_unload(void *data)
{
    request *one = data;
    return sim_host_unload(one->sim, one->module);
}

static int32_t unload(xtc_device *device, xtc_module module)
{
    request one = {.sim = &device->sim, .module = module};
    return xtc_engine_call(device, do_unload, &one);
}

static int32_t do_symbol(void *data)
{
    request *one = data;
    return sim_host_symbol(one->sim, one->module, one->name, &one->result);
}

static int32_t symbol(xtc_device *device, xtc_module module, const char *name,
                      xtc_function *function)
{
    request one = {.sim = &device->sim, .module = module, .name = name};
    int32_t status = xtc_engine_call(device, do_symbol, &one);
    *function = one.result;
    return status;
}

static int32_t counters(xtc_device *device, uint32_t *count, const char *const **names,
                        uint64_t *values)
{
    if (xtc_engine_check(&device->engine))
        return XTC_LOST;
    *count = device->names->count;
    *names = device->names->names;
    if (values)
        sim_driver_target_ops.values(sim_host_block(&device->sim), &device->copies, values);
    return XTC_OK;
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
