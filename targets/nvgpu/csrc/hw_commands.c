// SPDX-License-Identifier: Apache-2.0
// Copies, fills and launches by NVIDIA's driver.
#include <stdio.h>
#include <string.h>

#include "hw_device.h"
#include "xtc_error.h"

static hw_result give(xtc_device *device, const xtc_command *command)
{
    const hw_api *api = &device->api;
    uint64_t to = command->destination, from = command->source, nbytes = command->nbytes;
    switch (command->kind) {
    case XTC_COPY_TO:
        return api->copy_to(to, (const void *)(uintptr_t)from, nbytes, device->copies);
    case XTC_COPY_FROM:
        return api->copy_from((void *)(uintptr_t)to, from, nbytes, device->copies);
    case XTC_COPY_WITHIN:
        return api->copy_within(to, from, nbytes, device->copies);
    default:
        return api->fill(to, (unsigned char)command->byte, nbytes, device->copies);
    }
}

static int32_t check_addresses(xtc_device *device, const xtc_command *command)
{
    if (command->kind != XTC_COPY_FROM &&
        hw_find(device, command->destination, command->nbytes))
        return XTC_MEMORY;
    if ((command->kind == XTC_COPY_FROM || command->kind == XTC_COPY_WITHIN) &&
        hw_find(device, command->source, command->nbytes))
        return XTC_MEMORY;
    return XTC_OK;
}

static int32_t run(xtc_device *device, const xtc_command *command)
{
    int32_t status = hw_check(device);
    if (!status)
        status = check_addresses(device, command);
    if (status || command->nbytes == 0)
        return status;
    status = hw_enter(device);
    if (status)
        return status;
    status = hw_status(device, give(device, command), XTC_MEMORY, "a copy");
    if (!status)
        status = hw_status(device, device->api.stream_wait(device->copies), XTC_LOST, "a copy");
    hw_leave(device);
    if (!status && command->kind != XTC_FILL)
        xtc_copies_count(&device->copied, command->kind, command->nbytes);
    return status;
}

static const uint32_t *grid_of(const xtc_launch *given, const hw_shape *shape)
{
    return given->grid[0] ? given->grid : shape->grid;
}

// Launch with the cluster size of the launch.
static hw_result launch_clusters(const hw_api *api, const hw_function *function,
                                 const xtc_launch *given, hw_handle stream, void **parameters)
{
    const hw_shape *shape = &function->shape;
    hw_launch_attribute cluster = {.id = HW_LAUNCH_CLUSTER};
    hw_launch_config config = {.shared_bytes = shape->shared_bytes,
                               .stream = stream,
                               .attributes = &cluster,
                               .count = 1};
    memcpy(config.grid, grid_of(given, shape), sizeof config.grid);
    memcpy(config.block, shape->block, sizeof config.block);
    memcpy(cluster.value.cluster, given->cluster, sizeof given->cluster);
    return api->launch_with(&config, function->handle, parameters, NULL);
}

static hw_result launch_blocks(const hw_api *api, const hw_function *function,
                               const xtc_launch *given, hw_handle stream, void **parameters)
{
    const hw_shape *shape = &function->shape;
    const uint32_t *grid = grid_of(given, shape), *block = shape->block;
    return api->launch(function->handle, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                       shape->shared_bytes, stream, parameters, NULL);
}

static int32_t launch(xtc_device *device, const hw_function *function, const xtc_launch *given,
                      hw_handle stream, const char *what)
{
    const hw_shape *shape = &function->shape;
    void *parameters[HW_MAX_ARGUMENTS + HW_MAX_MAPS];
    hw_map maps[HW_MAX_MAPS];
    for (uint32_t i = 0; i < shape->parameters; i++)
        parameters[i] = (void *)&given->arguments[i];
    for (uint32_t i = 0; i < shape->maps; i++) {
        int32_t status = hw_make_map(device, &function->maps[i], given->arguments, &maps[i]);
        if (status)
            return status;
        parameters[shape->parameters + i] = &maps[i];
    }
    hw_result (*start)(const hw_api *, const hw_function *, const xtc_launch *, hw_handle, void **) =
        given->cluster[0] ? launch_clusters : launch_blocks;
    return hw_status(device, start(&device->api, function, given, stream, parameters), XTC_LAUNCH,
                     what);
}

static void count_launch(hw_counts *counts, const uint32_t *grid, const hw_shape *shape)
{
    uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];
    counts->launches++;
    counts->blocks += blocks;
    counts->threads += blocks * shape->block[0] * shape->block[1] * shape->block[2];
}

int32_t hw_launch(xtc_device *device, const hw_function *function, const xtc_launch *given,
                  hw_handle stream, const char *what)
{
    int32_t status = launch(device, function, given, stream, what);
    if (!status)
        count_launch(&device->counts, grid_of(given, &function->shape), &function->shape);
    return status;
}

int32_t hw_check_launch(const xtc_device *device, const hw_function *function,
                        const xtc_launch *given)
{
    if (given->count != function->shape.parameters)
        return xtc_fail(XTC_LAUNCH, "kernel '%s' takes %u arguments, not %u", function->name,
                        function->shape.parameters, given->count);
    const uint32_t *grid = grid_of(given, &function->shape), *cluster = given->cluster;
    if (!grid[0])
        return xtc_fail(XTC_LAUNCH, "kernel '%s' needs a grid, which the launch does not set",
                        function->name);
    if (cluster[0] && !device->api.launch_with)
        return xtc_fail(XTC_LAUNCH, "the driver has no cuLaunchKernelEx: CUDA 11.8 is needed");
    for (int dim = 0; dim < 3; dim++)
        if (cluster[0] && grid[dim] % cluster[dim])
            return xtc_fail(XTC_LAUNCH,
                            "kernel '%s' has a grid of %u blocks in %c, and clusters of %u",
                            function->name, grid[dim], "xyz"[dim], cluster[dim]);
    return XTC_OK;
}

static int32_t start(xtc_device *device, const xtc_command *command)
{
    const hw_function *function = (const hw_function *)(uintptr_t)command->function;
    const xtc_launch *given = &command->launch;
    uint64_t slot = device->started % HW_MAX_STARTED;
    int32_t status = hw_check(device);
    if (!status)
        status = hw_check_launch(device, function, given);
    if (!status)
        status = hw_enter(device);
    if (status)
        return status;
    char *what = device->names[slot];
    snprintf(what, sizeof device->names[slot], "kernel '%s'", function->name);
    device->begins[slot] = hw_now();
    status = hw_launch(device, function, given, device->kernels, what);
    if (!status)
        status = hw_status(device, device->api.event_record(device->ends[slot], device->kernels),
                           XTC_LOST, what);
    hw_leave(device);
    if (!status)
        device->started++;
    return status;
}

static int32_t finish(xtc_device *device)
{
    uint64_t slot = device->finished++ % HW_MAX_STARTED;
    if (hw_check(device))
        return XTC_LOST;
    int32_t status = hw_enter(device);
    if (status)
        return status;
    status = hw_wait_for_kernel(device, slot);
    hw_leave(device);
    return status;
}

const xtc_engine_ops hw_ops = {run, start, finish, HW_MAX_STARTED, HW_MAX_ARGUMENTS, true, true};
