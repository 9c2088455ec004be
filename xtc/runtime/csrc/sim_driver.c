// SPDX-License-Identifier: Apache-2.0
#include "sim_driver.h"

#include <stdlib.h>
#include <string.h>

#include "sim_memory.h"
#include "xtc_error.h"

struct xtc_device {
    xtc_engine engine; // the first member, for xtc_engine_of
    sim_host sim;
    sim_memory memory;
    xtc_copies copies;
    sim_counter_names *names;
};

static bool is_in_memory(const sim_memory *memory, xtc_address address)
{
    return address - memory->address < memory->nbytes;
}

// Copy data of an image, which may be in any memory of the simulated machine.
static int32_t copy_data(xtc_device *device, const xtc_command *command)
{
    bool writes = command->kind == XTC_COPY_TO;
    uint64_t address = writes ? command->destination : command->source;
    void *host = (void *)(uintptr_t)(writes ? command->source : command->destination);
    if (command->parallel)
        return xtc_fail(XTC_USAGE, "a copy of an image's data cannot be parallel");
    int32_t status = sim_host_copy_data(&device->sim, writes, address, host, command->nbytes);
    if (!status)
        xtc_copies_count(&device->copies, command->kind, command->nbytes);
    return status;
}

static int32_t run(xtc_device *device, const xtc_command *command)
{
    void *to, *from;
    uint64_t nbytes = command->nbytes;
    sim_memory *memory = &device->memory;
    if (sim_host_check(&device->sim))
        return XTC_LOST;
    if ((command->kind == XTC_COPY_TO && !is_in_memory(memory, command->destination)) ||
        (command->kind == XTC_COPY_FROM && !is_in_memory(memory, command->source)))
        return copy_data(device, command);
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

static xtc_engine_ops ops = {run, start, finish, SIM_RING, SIM_ARGUMENTS, false, false};

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
    ops.has_clusters = sim_driver_target_ops.has_clusters;
    xtc_engine_open(&device->engine, &ops);
    *opened = device;
    return XTC_OK;
}

static void stop(xtc_device *device)
{
    sim_host_stop(&device->sim);
}

static void release(xtc_device *device)
{
    sim_memory_close(&device->memory);
    sim_host_release(&device->sim);
    free(device->names);
    free(device);
}

static int32_t check(xtc_device *device)
{
    return sim_host_check(&device->sim);
}

static int32_t alloc(xtc_device *device, uint64_t nbytes, xtc_address *address)
{
    return sim_memory_alloc(&device->memory, nbytes, address);
}

static int32_t free_memory(xtc_device *device, xtc_address address)
{
    return sim_memory_free(&device->memory, address);
}

static int32_t span(xtc_device *device, xtc_address address, xtc_address *start, uint64_t *nbytes)
{
    sim_span found;
    int32_t status = sim_memory_span(&device->memory, address, &found);
    if (status)
        return status;
    *start = found.address;
    *nbytes = found.nbytes;
    return XTC_OK;
}

static int32_t memory(xtc_device *device, uint64_t *used, uint64_t *size)
{
    *used = sim_memory_used(&device->memory);
    *size = device->memory.nbytes;
    return XTC_OK;
}

static int32_t load(xtc_device *device, const void *image, uint64_t nbytes, xtc_module *module)
{
    return sim_host_load(&device->sim, image, nbytes, module);
}

static int32_t unload(xtc_device *device, xtc_module module)
{
    return sim_host_unload(&device->sim, module);
}

static int32_t function(xtc_device *device, xtc_module module, const char *name,
                        xtc_function *found)
{
    return sim_host_function(&device->sim, module, name, found);
}

static int32_t data(xtc_device *device, xtc_module module, const char *name, xtc_address *address,
                    uint64_t *nbytes)
{
    return sim_host_data(&device->sim, module, name, address, nbytes);
}

static int32_t counters(xtc_device *device, uint32_t *count, const char *const **names,
                        uint64_t *values)
{
    *count = device->names->count;
    *names = device->names->names;
    if (values)
        sim_driver_target_ops.values(sim_host_block(&device->sim), &device->copies, values);
    return XTC_OK;
}

const xtc_device_ops xtc_device_own = {
    .open = open_device,
    .stop = stop,
    .release = release,
    .check = check,
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
