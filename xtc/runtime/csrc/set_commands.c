// SPDX-License-Identifier: Apache-2.0
// Commands of a set: each fans out to the members' queues.
#include <stdlib.h>
#include <string.h>

#include "set.h"

typedef unsigned long long ull;

// A command that is being issued to the members.
typedef struct {
    xtc_device *set;
    xtc_queue queue; // in the set; for XTC_NOW, a queue that is closed when the command is done
    set_numbers queues, events;
    bool stopped;   // the queue has stopped, so no member gets the command
    int32_t status; // of the first member that rejected it
} fan;

static bool begin(fan *out, xtc_device *set, xtc_queue queue)
{
    *out = (fan){.set = set, .queue = queue};
    if (queue == XTC_NOW)
        out->status = set_queue_open(set, &out->queue);
    if (!out->status)
        out->status = set_find_queue(set, out->queue, &out->queues, &out->stopped);
    return !out->status && !out->stopped;
}

// Member `number`, the next to issue the command to; NULL after the last one.
static const set_member *next(fan *out, uint32_t number)
{
    bool goes_on = !out->status && !out->stopped && number < out->set->count;
    return goes_on ? &out->set->members[number] : NULL;
}

static void gave(fan *out, uint32_t number, int32_t status)
{
    if (status)
        out->status = set_failed(&out->set->members[number], number, status);
}

static int32_t end(fan *out, bool now, xtc_event *event)
{
    char message[XTC_MESSAGE_BYTES];
    if (event)
        *event = 0;
    if (!out->status && !now)
        return set_note(out->set, out->queue, &out->events, event);
    if (!now || !out->queue)
        return set_stop(out->set, out->queue, out->status);
    if (!out->status)
        out->status = set_wait(out->set, out->queue, 0);
    memcpy(message, xtc_message(), sizeof message);
    set_queue_close(out->set, out->queue);
    return out->status ? xtc_fail_with(out->status, message) : XTC_OK;
}

static int32_t refuse(fan *out, int32_t status)
{
    out->status = status;
    return status;
}

// Make a member wait until another member has reached the same point.
static void join(fan *out, uint32_t waiting, uint32_t other)
{
    const set_member *here = &out->set->members[waiting], *there = &out->set->members[other];
    xtc_event reached;
    int32_t status = there->driver->event(there->device, out->queues.of[other], &reached);
    if (status) {
        gave(out, other, status);
        return;
    }
    gave(out, waiting, here->driver->after(here->device, out->queues.of[waiting], there->driver,
                                           there->device, out->queues.of[other], reached,
                                           &out->events.of[waiting]));
}

// Join all members.
static void join_all(fan *out)
{
    for (uint32_t i = 1; next(out, i); i++)
        join(out, 0, i);
    for (uint32_t i = 1; next(out, i); i++)
        join(out, i, 0);
}

static void use_host(fan *out, const void *host, uint64_t nbytes, bool is_written)
{
    if (next(out, 0) && set_uses_host(out->set, out->queue, host, nbytes, is_written))
        join_all(out);
}

int32_t set_copy_to(xtc_device *set, xtc_queue queue, xtc_address destination, const void *source,
                    uint64_t nbytes, uint32_t flags, xtc_event *event)
{
    fan out;
    set_allocation to;
    const set_member *member;
    if (begin(&out, set, queue) && set_find(set, destination, nbytes, &to))
        refuse(&out, XTC_MEMORY);
    use_host(&out, source, nbytes, false);
    for (uint32_t i = 0; (member = next(&out, i)); i++) {
        set_part part = set_part_of(set, i, &to, destination - to.address, nbytes);
        if (part.nbytes)
            gave(&out, i, member->driver->copy_to(member->device, out.queues.of[i], part.address,
                                                  (const char *)source + part.skipped, part.nbytes,
                                                  flags, &out.events.of[i]));
    }
    return end(&out, queue == XTC_NOW, event);
}

int32_t set_copy_from(xtc_device *set, xtc_queue queue, void *destination, xtc_address source,
                      uint64_t nbytes, uint32_t flags, xtc_event *event)
{
    fan out;
    set_allocation from;
    const set_member *member;
    if (begin(&out, set, queue) && set_find(set, source, nbytes, &from))
        refuse(&out, XTC_MEMORY);
    use_host(&out, destination, nbytes, true);
    for (uint32_t i = 0; (member = next(&out, i)); i++) {
        set_part part = set_part_of(set, i, &from, source - from.address, nbytes);
        if (part.nbytes)
            gave(&out, i, member->driver->copy_from(member->device, out.queues.of[i],
                                                    (char *)destination + part.skipped,
                                                    part.address, part.nbytes, flags,
                                                    &out.events.of[i]));
        if (!from.shard_bytes)
            break; // all members have the same bytes
    }
    return end(&out, queue == XTC_NOW, event);
}

static int32_t find_both(xtc_device *set, xtc_address destination, xtc_address source,
                         uint64_t nbytes, set_allocation *to, set_allocation *from)
{
    if (set_find(set, destination, nbytes, to) || set_find(set, source, nbytes, from))
        return XTC_MEMORY;
    bool alike = to->shard_bytes == from->shard_bytes &&
                 (!to->shard_bytes || destination - to->address == source - from->address);
    if (!alike)
        return xtc_fail(XTC_USAGE, "copies between shards must go through the host");
    return XTC_OK;
}

int32_t set_copy_within(xtc_device *set, xtc_queue queue, xtc_address destination,
                        xtc_address source, uint64_t nbytes, uint32_t flags, xtc_event *event)
{
    fan out;
    set_allocation to, from;
    const set_member *member;
    if (begin(&out, set, queue))
        refuse(&out, find_both(set, destination, source, nbytes, &to, &from));
    for (uint32_t i = 0; (member = next(&out, i)); i++) {
        set_part there = set_part_of(set, i, &to, destination - to.address, nbytes);
        set_part here = set_part_of(set, i, &from, source - from.address, nbytes);
        if (there.nbytes)
            gave(&out, i, member->driver->copy_within(member->device, out.queues.of[i],
                                                      there.address, here.address, there.nbytes,
                                                      flags, &out.events.of[i]));
    }
    return end(&out, queue == XTC_NOW, event);
}

int32_t set_fill(xtc_device *set, xtc_queue queue, xtc_address address, uint32_t byte,
                 uint64_t nbytes, xtc_event *event)
{
    fan out;
    set_allocation to;
    const set_member *member;
    if (begin(&out, set, queue) && set_find(set, address, nbytes, &to))
        refuse(&out, XTC_MEMORY);
    for (uint32_t i = 0; (member = next(&out, i)); i++) {
        set_part part = set_part_of(set, i, &to, address - to.address, nbytes);
        if (part.nbytes)
            gave(&out, i, member->driver->fill(member->device, out.queues.of[i], part.address,
                                               byte, part.nbytes, &out.events.of[i]));
    }
    return end(&out, queue == XTC_NOW, event);
}

// Translate an argument for a member: an address of the set becomes an address of the member.
static int32_t translate(xtc_device *set, uint32_t number, const xtc_launch *launch, uint32_t i,
                         uint64_t *value)
{
    set_allocation of;
    *value = launch->arguments[i];
    if (launch->types[i] != XTC_ADDRESS || !*value)
        return XTC_OK;
    if (set_find(set, *value, 0, &of))
        return xtc_fail(XTC_LAUNCH, "kernel argument %u, 0x%llx, is not inside an allocation", i,
                        (ull)*value);
    if (of.shard_bytes && *value != of.address)
        return xtc_fail(XTC_LAUNCH, "kernel argument %u, 0x%llx, is not the start of its shards", i,
                        (ull)*value);
    *value = of.addresses.of[number] + (*value - of.address);
    return XTC_OK;
}

static int32_t launch_on(fan *out, uint32_t number, xtc_function function,
                         const xtc_launch *launch, uint64_t *arguments)
{
    const set_member *member = &out->set->members[number];
    xtc_launch own = *launch;
    own.arguments = arguments;
    for (uint32_t i = 0; i < launch->count; i++) {
        int32_t status = translate(out->set, number, launch, i, &arguments[i]);
        if (status)
            return refuse(out, status);
    }
    gave(out, number, member->driver->launch(member->device, out->queues.of[number], function,
                                             &own, &out->events.of[number]));
    return out->status;
}

int32_t set_launch(xtc_device *set, xtc_queue queue, xtc_function function,
                   const xtc_launch *launch, xtc_event *event)
{
    fan out;
    set_numbers functions;
    uint64_t *arguments = calloc(launch->count + 1, sizeof *arguments);
    if (!arguments)
        return xtc_fail(XTC_USAGE, "out of host memory");
    if (begin(&out, set, queue))
        refuse(&out, set_find_function(set, function, &functions));
    for (uint32_t i = 0; next(&out, i); i++)
        launch_on(&out, i, functions.of[i], launch, arguments);
    free(arguments);
    return end(&out, queue == XTC_NOW, event);
}

int32_t set_callback(xtc_device *set, xtc_queue queue, int32_t (*function)(void *), void *data,
                     uint32_t flags, xtc_event *event)
{
    fan out;
    if (begin(&out, set, queue))
        for (uint32_t i = 1; next(&out, i); i++)
            join(&out, 0, i);
    const set_member *first = next(&out, 0);
    if (first)
        gave(&out, 0, first->driver->callback(first->device, out.queues.of[0], function, data,
                                              flags, &out.events.of[0]));
    for (uint32_t i = 1; next(&out, i); i++)
        join(&out, i, 0);
    if (first)
        set_joined(set, out.queue);
    return end(&out, queue == XTC_NOW, event);
}

int32_t set_after(xtc_device *set, xtc_queue queue, const xtc_driver *other_driver,
                  xtc_device *other_device, xtc_queue other_queue, xtc_event other_event,
                  xtc_event *event)
{
    fan out;
    const set_member *member;
    begin(&out, set, queue);
    for (uint32_t i = 0; (member = next(&out, i)); i++)
        gave(&out, i, member->driver->after(member->device, out.queues.of[i], other_driver,
                                            other_device, other_queue, other_event,
                                            &out.events.of[i]));
    return end(&out, queue == XTC_NOW, event);
}

int32_t set_event_of(xtc_device *set, xtc_queue queue, xtc_event *event)
{
    fan out;
    const set_member *member;
    begin(&out, set, queue);
    for (uint32_t i = 0; (member = next(&out, i)); i++)
        gave(&out, i,
             member->driver->event(member->device, out.queues.of[i], &out.events.of[i]));
    return end(&out, queue == XTC_NOW, event);
}
