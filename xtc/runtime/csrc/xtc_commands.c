// SPDX-License-Identifier: Apache-2.0
// The engine's functions of the driver table: each call becomes a command. A command that cannot be
// issued stops its queue, like a failed command, as programs only check the status of the queue's
// end.
#include <stdlib.h>
#include <string.h>

#include "xtc_error.h"
#include "xtc_queue.h"

static xtc_command *new_command(xtc_kind kind, size_t more_bytes)
{
    xtc_command *command = calloc(1, sizeof *command + more_bytes);
    if (command)
        command->kind = kind;
    else
        xtc_fail(XTC_USAGE, "out of host memory");
    return command;
}

static int32_t give_copy(xtc_device *device, xtc_queue queue, xtc_kind kind, uint64_t destination,
                         uint64_t source, uint64_t nbytes, uint32_t flags, xtc_event *event)
{
    xtc_command *command = new_command(kind, 0);
    if (!command)
        return xtc_engine_stop(device, queue, XTC_USAGE);
    command->destination = destination;
    command->source = source;
    command->nbytes = nbytes;
    command->parallel = flags & XTC_PARALLEL;
    return xtc_give(device, queue, command, event);
}

int32_t xtc_engine_copy_to(xtc_device *device, xtc_queue queue, xtc_address destination,
                           const void *source, uint64_t nbytes, uint32_t flags, xtc_event *event)
{
    return give_copy(device, queue, XTC_COPY_TO, destination, (uintptr_t)source, nbytes, flags,
                     event);
}

int32_t xtc_engine_copy_from(xtc_device *device, xtc_queue queue, void *destination,
                             xtc_address source, uint64_t nbytes, uint32_t flags, xtc_event *event)
{
    return give_copy(device, queue, XTC_COPY_FROM, (uintptr_t)destination, source, nbytes, flags,
                     event);
}

int32_t xtc_engine_copy_within(xtc_device *device, xtc_queue queue, xtc_address destination,
                               xtc_address source, uint64_t nbytes, uint32_t flags,
                               xtc_event *event)
{
    return give_copy(device, queue, XTC_COPY_WITHIN, destination, source, nbytes, flags, event);
}

int32_t xtc_engine_fill(xtc_device *device, xtc_queue queue, xtc_address address, uint32_t byte,
                        uint64_t nbytes, xtc_event *event)
{
    xtc_command *command = new_command(XTC_FILL, 0);
    if (!command)
        return xtc_engine_stop(device, queue, XTC_USAGE);
    command->destination = address;
    command->byte = byte;
    command->nbytes = nbytes;
    return xtc_give(device, queue, command, event);
}

static int32_t check_cluster(const xtc_engine_ops *ops, const xtc_launch *launch)
{
    const uint32_t *cluster = launch->cluster;
    if (cluster[0] && !ops->has_clusters)
        return xtc_fail(XTC_LAUNCH, "this device does not support clusters");
    if (!cluster[0] != !cluster[1] || !cluster[0] != !cluster[2])
        return xtc_fail(XTC_LAUNCH, "a cluster of %u x %u x %u blocks is empty", cluster[0], cluster[1],
                        cluster[2]);
    return XTC_OK;
}

static int32_t check_launch(const xtc_engine_ops *ops, const xtc_launch *launch)
{
    const uint32_t *grid = launch->grid;
    if (launch->count > ops->max_arguments)
        return xtc_fail(XTC_LAUNCH, "a kernel has at most %u arguments, not %u",
                        ops->max_arguments, launch->count);
    if (grid[0] && !ops->has_grid)
        return xtc_fail(XTC_LAUNCH, "this device does not support grids");
    if (!grid[0] != !grid[1] || !grid[0] != !grid[2])
        return xtc_fail(XTC_LAUNCH, "a grid of %u x %u x %u blocks is empty", grid[0], grid[1],
                        grid[2]);
    for (uint32_t i = 0; i < launch->count; i++)
        if (launch->types[i] >= XTC_TYPE_COUNT)
            return xtc_fail(XTC_LAUNCH, "kernel argument %u has the unknown type %u", i,
                            launch->types[i]);
    return check_cluster(ops, launch);
}

int32_t xtc_engine_launch(xtc_device *device, xtc_queue queue, xtc_function function,
                          const xtc_launch *launch, xtc_event *event)
{
    size_t values = launch->count * sizeof *launch->arguments, types = launch->count;
    size_t label = launch->label ? strlen(launch->label) + 1 : 0;
    int32_t status = check_launch(xtc_engine_of(device)->ops, launch);
    if (status)
        return xtc_engine_stop(device, queue, xtc_fail_launch(status, launch));
    xtc_command *command = new_command(XTC_LAUNCH_KERNEL, values + types + label);
    if (!command)
        return xtc_engine_stop(device, queue, XTC_USAGE);
    uint8_t *own_types = (uint8_t *)(command->arguments + launch->count);
    command->function = function;
    command->launch = *launch;
    command->launch.arguments = command->arguments;
    command->launch.types = own_types;
    if (launch->count) {
        memcpy(command->arguments, launch->arguments, values);
        memcpy(own_types, launch->types, types);
    }
    if (label)
        command->launch.label = memcpy(own_types + types, launch->label, label);
    return xtc_give(device, queue, command, event);
}

int32_t xtc_engine_callback(xtc_device *device, xtc_queue queue, int32_t (*function)(void *),
                            void *data, uint32_t flags, xtc_event *event)
{
    xtc_command *command = new_command(XTC_CALL, 0);
    if (!command)
        return xtc_engine_stop(device, queue, XTC_USAGE);
    command->callback = function;
    command->data = data;
    command->parallel = flags & XTC_PARALLEL;
    return xtc_give(device, queue, command, event);
}

int32_t xtc_engine_call(xtc_device *device, int32_t (*function)(void *), void *data)
{
    xtc_command *command = new_command(XTC_INTERNAL, 0);
    if (!command)
        return XTC_USAGE;
    command->callback = function;
    command->data = data;
    return xtc_give(device, XTC_NOW, command, NULL);
}

int32_t xtc_engine_after(xtc_device *device, xtc_queue queue, const xtc_driver *other_driver,
                         xtc_device *other_device, xtc_queue other_queue, xtc_event other_event,
                         xtc_event *event)
{
    // The other queue may be closed before this command starts.
    bool done = other_driver->done(other_device, other_queue, other_event) == XTC_OK;
    xtc_command *command = new_command(done ? XTC_NOTHING : XTC_AFTER, 0);
    if (!command)
        return xtc_engine_stop(device, queue, XTC_USAGE);
    command->other_driver = other_driver;
    command->other_device = other_device;
    command->other_queue = other_queue;
    command->other_event = other_event;
    return xtc_give(device, queue, command, event);
}

int32_t xtc_engine_event(xtc_device *device, xtc_queue queue, xtc_event *event)
{
    xtc_command *command = new_command(XTC_MARK, 0);
    if (!command)
        return xtc_engine_stop(device, queue, XTC_USAGE);
    return xtc_give(device, queue, command, event);
}
