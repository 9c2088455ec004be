// SPDX-License-Identifier: Apache-2.0
// The driver of a set of DPUs, written against the host's library: the simulator's or the vendor's.
#include <stdlib.h>
#include <string.h>

#include "driver_image.h"
#include "driver_memory.h"
#include "xtc_device.h"
#include "xtc_error.h"

enum {
    LAUNCHES,
    LOADS,
    TO_DEVICE,
    FROM_DEVICE,
    EXCHANGED,
    INSTRUCTIONS,
    CYCLES,
    NANOSECONDS,
    COUNTERS
};

static const char *const counter_names[COUNTERS] = {
    "upmem.LAUNCHES",        "upmem.LOADS",        "upmem.BYTES_TO_DEVICE",
    "upmem.BYTES_FROM_DEVICE", "upmem.BYTES_EXCHANGED", "upmem.INSTRUCTIONS",
    "modelled.upmem.CYCLES", "modelled.upmem.NANOSECONDS"};

typedef struct {
    uint64_t nbytes; // of this structure
    uint32_t dpus;
    const char *profile;
} upmem_config;

typedef struct module {
    driver_image image;
    struct module *next;
} module;

struct xtc_device {
    xtc_engine engine; // the first, for xtc_engine_of
    struct dpu_set_t set;
    uint32_t dpus;
    driver_memory memory;
    module *modules;
    const module *loaded; // the module on the DPUs, and the number of its program
    uint32_t loaded_program;
    uint64_t launches, loads;
    uint64_t cycles, instructions, nanoseconds; // at the last reading
    bool is_closed;
};

// A function of the simulator's library; the vendor's has none.
void lib_totals(struct dpu_set_t set, uint64_t *cycles, uint64_t *instructions,
                uint64_t *nanoseconds) __attribute__((weak));
const char *lib_last_fault(struct dpu_set_t set) __attribute__((weak));
void lib_end(struct dpu_set_t set) __attribute__((weak));

static int32_t copy_to(xtc_device *device, const xtc_command *command, const void *from)
{
    driver_buffer *buffer =
        driver_memory_find(&device->memory, command->destination, command->nbytes);
    if (!buffer)
        return XTC_MEMORY;
    bool whole = command->nbytes == buffer->nbytes;
    if (whole)
        buffer->home_valid = true; // old contents are not needed
    int32_t status = driver_memory_to_host(&device->memory, buffer, true);
    if (!status && from)
        memmove((void *)(uintptr_t)command->destination, from, command->nbytes);
    else if (!status)
        memset((void *)(uintptr_t)command->destination, (int)command->byte, command->nbytes);
    return status;
}

static int32_t source_of(xtc_device *device, const xtc_command *command)
{
    driver_buffer *buffer = driver_memory_find(&device->memory, command->source, command->nbytes);
    return buffer ? driver_memory_to_host(&device->memory, buffer, false) : XTC_MEMORY;
}

static int32_t run(xtc_device *device, const xtc_command *command)
{
    const void *from = (const void *)(uintptr_t)command->source;
    int32_t status;
    if (command->nbytes == 0)
        return XTC_OK;
    switch (command->kind) {
    case XTC_COPY_TO:
        return copy_to(device, command, from);
    case XTC_FILL:
        return copy_to(device, command, NULL);
    case XTC_COPY_FROM:
        status = source_of(device, command);
        if (!status)
            memcpy((void *)(uintptr_t)command->destination, from, command->nbytes);
        return status;
    default:
        status = source_of(device, command);
        return status ? status : copy_to(device, command, from);
    }
}

static int32_t number_dpus(xtc_device *device)
{
    struct dpu_set_t dpu;
    uint32_t i;
    dpu_error_t error = DPU_OK;
    uint64_t *numbers = calloc(device->dpus, sizeof *numbers);
    if (!numbers)
        return xtc_fail(XTC_MEMORY, "out of host memory");
    DPU_FOREACH (device->set, dpu, i) {
        numbers[i] = i;
        if (error == DPU_OK)
            error = dpu_prepare_xfer(dpu, &numbers[i]);
    }
    if (error == DPU_OK)
        error = dpu_push_xfer(device->set, DPU_XFER_TO_DPU, "xtc_dpu_number", 0, sizeof *numbers,
                              DPU_XFER_DEFAULT);
    free(numbers);
    return driver_failed(error, "numbering DPUs");
}

// Each launch needs its program in instruction memory.
static int32_t load_program(xtc_device *device, const module *from, uint32_t program)
{
    if (device->loaded == from && device->loaded_program == program)
        return XTC_OK;
    const uint64_t *location = from->image.programs[program];
    dpu_error_t error =
        dpu_load_from_memory(device->set, from->image.bytes + location[0], location[1], NULL);
    if (error != DPU_OK)
        return driver_failed(error, "loading a program");
    device->loaded = from;
    device->loaded_program = program;
    device->loads++;
    return number_dpus(device);
}

static const module *owner_of(const xtc_device *device, const image_kernel *kernel)
{
    const module *found = device->modules;
    while (found && (kernel < found->image.kernels ||
                     kernel >= found->image.kernels + found->image.kernel_count))
        found = found->next;
    return found;
}

static int32_t fault(xtc_device *device, const image_kernel *kernel, dpu_error_t error)
{
    const char *text = lib_last_fault ? lib_last_fault(device->set) : NULL;
    if (error == DPU_ERR_DPU_FAULT && text)
        return xtc_fail(XTC_FAULT, "kernel '%s' on %s", kernel->name, text);
    if (error == DPU_ERR_TIMEOUT && text)
        return xtc_fail(XTC_TIMEOUT, "kernel '%s' on %s", kernel->name, text);
    return driver_failed(error, kernel->name);
}

static int32_t place_buffers(xtc_device *device, const image_kernel *kernel,
                             const xtc_command *command, driver_buffer **buffers, uint32_t *call)
{
    for (uint32_t i = 0; i < kernel->count; i++) {
        const image_buffer *wanted = &kernel->buffers[i];
        uint64_t address = command->launch.arguments[i];
        buffers[i] = driver_memory_find(&device->memory, address, wanted->nbytes);
        if (!buffers[i])
            return XTC_MEMORY;
        if ((uintptr_t)buffers[i]->home != address)
            return xtc_fail(XTC_USAGE, "argument %u of kernel '%s' is inside an allocation, and "
                            "must begin one", i, kernel->name);
        int32_t status = driver_memory_to_dpus(&device->memory, buffers[i], wanted->each,
                                               wanted->written != 1, &call[2 + i]);
        if (status)
            return status;
    }
    return XTC_OK;
}

static int32_t launch(xtc_device *device, const image_kernel *kernel, const uint32_t *call)
{
    uint32_t nbytes = (2 + kernel->count + 1) / 2 * 8;
    dpu_error_t error =
        dpu_broadcast_to(device->set, "xtc_call", 0, call, nbytes, DPU_XFER_ASYNC);
    if (error == DPU_OK)
        error = dpu_launch(device->set, DPU_ASYNCHRONOUS);
    if (error == DPU_OK)
        error = driver_settle(device->set);
    return error == DPU_OK ? XTC_OK : fault(device, kernel, error);
}

static int32_t start(xtc_device *device, const xtc_command *command)
{
    const image_kernel *kernel = (const image_kernel *)(uintptr_t)command->function;
    const module *owner = owner_of(device, kernel);
    driver_buffer *buffers[IMAGE_MAX_BUFFERS];
    uint32_t call[2 + IMAGE_MAX_BUFFERS + 2] = {0};
    if (!owner)
        return xtc_fail(XTC_LAUNCH, "the kernel's module is not loaded");
    if (command->launch.count != kernel->count)
        return xtc_fail(XTC_LAUNCH, "kernel '%s' takes %u buffers, not %u", kernel->name,
                        kernel->count, command->launch.count);
    int32_t status = load_program(device, owner, kernel->program);
    call[0] = kernel->index;
    if (!status)
        status = place_buffers(device, kernel, command, buffers, call);
    if (!status)
        status = launch(device, kernel, call);
    for (uint32_t i = 0; i < kernel->count && !status; i++)
        if (kernel->buffers[i].written)
            driver_memory_written(buffers[i], kernel->buffers[i].each);
    device->launches += !status;
    return status;
}

static int32_t finish(xtc_device *device)
{
    (void)device; // a started kernel is already done
    return XTC_OK;
}

static const xtc_engine_ops ops = {run, start, finish, .max_started = 1,
                                   .max_arguments = IMAGE_MAX_BUFFERS};

static int32_t open_device(const void *given, xtc_device **opened)
{
    const upmem_config *config = given;
    int32_t status = xtc_device_check_config(given, sizeof *config);
    if (status)
        return status;
    xtc_device *device = calloc(1, sizeof *device);
    if (!device)
        return xtc_fail(XTC_NOT_FOUND, "out of host memory");
    dpu_error_t error = dpu_alloc(config->dpus, config->profile, &device->set);
    if (error != DPU_OK) {
        free(device);
        driver_failed(error, "allocating DPUs");
        return XTC_NOT_FOUND;
    }
    device->dpus = config->dpus;
    driver_memory_open(&device->memory, device->set, device->dpus);
    xtc_engine_open(&device->engine, &ops);
    *opened = device;
    return XTC_OK;
}

static void stop(xtc_device *device)
{
    if (lib_end)
        lib_end(device->set);
}

static int32_t close_device(xtc_device *device)
{
    if (lib_totals)
        lib_totals(device->set, &device->cycles, &device->instructions, &device->nanoseconds);
    device->is_closed = true;
    dpu_free(device->set);
    return XTC_OK;
}

static void release_device(xtc_device *device)
{
    xtc_engine_release(&device->engine);
    driver_memory_close(&device->memory);
    while (device->modules) {
        module *gone = device->modules;
        device->modules = gone->next;
        driver_image_close(&gone->image);
        free(gone);
    }
    free(device);
}

static int32_t alloc(xtc_device *device, uint64_t nbytes, xtc_address *address)
{
    return driver_memory_alloc(&device->memory, nbytes, address);
}

static uint32_t memories(const xtc_device *device)
{
    return device->dpus;
}

static int32_t alloc_sharded(xtc_device *device, uint64_t nbytes, uint64_t shard_bytes,
                             xtc_address *address)
{
    return driver_memory_alloc_sharded(&device->memory, nbytes, shard_bytes, address);
}

static int32_t free_memory(xtc_device *device, xtc_address address)
{
    return driver_memory_free(&device->memory, address);
}

static int32_t span(xtc_device *device, xtc_address address, xtc_address *start, uint64_t *nbytes)
{
    const driver_buffer *buffer = driver_memory_find(&device->memory, address, 1);
    if (!buffer)
        return XTC_MEMORY;
    *start = (uintptr_t)buffer->home;
    *nbytes = buffer->nbytes;
    return XTC_OK;
}

static int32_t memory(xtc_device *device, uint64_t *used, uint64_t *size)
{
    *used = device->memory.used;
    *size = device->memory.size;
    return XTC_OK;
}

static int32_t load(xtc_device *device, const void *image, uint64_t nbytes, xtc_module *number)
{
    module *loaded = calloc(1, sizeof *loaded);
    if (!loaded)
        return xtc_fail(XTC_MEMORY, "out of host memory");
    int32_t status = driver_image_open(&loaded->image, image, nbytes);
    if (status) {
        free(loaded);
        return status;
    }
    loaded->next = device->modules;
    device->modules = loaded;
    *number = (uintptr_t)loaded;
    return XTC_OK;
}

static int32_t unload(xtc_device *device, xtc_module number)
{
    module **link = &device->modules;
    while (*link && (uintptr_t)*link != number)
        link = &(*link)->next;
    module *gone = *link;
    if (!gone)
        return xtc_fail(XTC_LAUNCH, "the module is not loaded");
    *link = gone->next;
    if (device->loaded == gone)
        device->loaded = NULL;
    driver_image_close(&gone->image);
    free(gone);
    return XTC_OK;
}

static int32_t function(xtc_device *device, xtc_module number, const char *name,
                        xtc_function *found)
{
    (void)device;
    const driver_image *image = &((const module *)(uintptr_t)number)->image;
    for (uint32_t i = 0; i < image->kernel_count; i++) {
        if (!strcmp(image->kernels[i].name, name)) {
            *found = (uintptr_t)&image->kernels[i];
            return XTC_OK;
        }
    }
    return xtc_fail(XTC_LAUNCH, "the image has no function '%s'", name);
}

static int32_t counters(xtc_device *device, uint32_t *count, const char *const **names,
                        uint64_t *values)
{
    *count = COUNTERS;
    *names = counter_names;
    if (!values)
        return XTC_OK;
    const driver_memory *bytes = &device->memory;
    if (lib_totals && !device->is_closed)
        lib_totals(device->set, &device->cycles, &device->instructions, &device->nanoseconds);
    const uint64_t all[COUNTERS] = {device->launches,    device->loads,    bytes->to_device,
                                    bytes->from_device,  bytes->exchanged, device->instructions,
                                    device->cycles,      device->nanoseconds};
    memcpy(values, all, sizeof all);
    return XTC_OK;
}

const xtc_device_ops xtc_device_own = {
    .open = open_device,
    .stop = stop,
    .close = close_device,
    .release = release_device,
    .alloc = alloc,
    .free = free_memory,
    .span = span,
    .memory = memory,
    .memories = memories,
    .alloc_sharded = alloc_sharded,
    .load = load,
    .unload = unload,
    .function = function,
    .counters = counters,
};
