// SPDX-License-Identifier: Apache-2.0
// The engine's side of the driver table: each call becomes a command in the line. One that cannot be
// given stops its queue, as one that failed does: programs look at nothing but the queue's end.
#include <stdlib.h>
#include <string.h>

#include "xtc_error.h"
#include "xtc_queue.h"

static xtc_command *new_command(xtc_kind kind, const uint64_t *arguments, uint32_t count)
{
    xtc_command *command = calloc(1, sizeof *command + count * sizeof *arguments);
    if (!command) {
        xtc_fail(XTC_USAGE, "out of host memory");
        return NULL;
    }
    command->kind = kind;
    command->count = count;
    if (count)
        memcpy(command->arguments, arguments, count * sizeof *arguments);
    return command;
}

static int32_t give_copy(xtc_device *device, xtc_queue queue, xtc_kind kind, uint64_t destination,
                         uint64_t source, uint64_t nbytes, uint32_t flags, xtc_event *event)
{
    xtc_command *command = new_command(kind, NULL, 0);
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
    xtc_command *command = new_command(XTC_FILL, NULL, 0);
    if (!command)
        return xtc_engine_stop(device, queue, XTC_USAGE);
    command->destination = address;
    command->byte = byte;
    command->nbytes = nbytes;
    return xtc_give(device, queue, command, event);
}

int32_t xtc_engine_launch(xtc_device *device, xtc_queue queue, xtc_function function,
                          const uint64_t *arguments, uint32_t count, xtc_event *event)
{
    uint32_t most = xtc_engine_of(device)->ops->max_arguments;
    if (count > most) {
        int32_t status =
            xtc_fail(XTC_LAUNCH, "a kernel takes %u arguments at most, not %u", most, count);
        return xtc_engine_stop(device, queue, status);
    }
    xtc_command *command = new_command(XTC_LAUNCH_KERNEL, arguments, count);
    if (!command)
        return xtc_engine_stop(device, queue, XTC_USAGE);
    command->function = function;
    return xtc_give(device, queue, command, event);
}

int32_t xtc_engine_callback(xtc_device *device, xtc_queue queue, int32_t (*function)(void *),
                            void *data, uint32_t flags, xtc_event *event)
{
    xtc_command *command = new_command(XTC_CALL, NULL, 0);
    if (!command)
        return xtc_engine_stop(device, queue, XTC_USAGE);
    command->callback = function;
    command->data = data;
    command->parallel = flags & XTC_PARALLEL;
    return xtc_give(device, queue, command, event);
}

int32_t xtc_engine_call(xtc_device *device, int32_t (*function)(void *), void *data)
{
    xtc_command *command = new_command(XTC_INTERNAL, NULL, 0);
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
    // The other queue may be closed by the time that this command starts.
    bool done = other_driver->done(other_device, other_queue, other_event) == XTC_OK;
    xtc_command *command = new_command(done ? XTC_NOTHING : XTC_AFTER, NULL, 0);
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
    xtc_command *command = new_command(XTC_MARK, NULL, 0);
    if (!command)
        return xtc_engine_stop(device, queue, XTC_USAGE);
    return xtc_give(device, queue, command, event);
}
