// SPDX-License-Identifier: Apache-2.0
// CUDA streams, of this device and of other libraries in the same context.
#include <stdio.h>
#include <stdlib.h>

#include "hw_device.h"
#include "xtc_error.h"

typedef struct request {
    xtc_device *device;
    hw_handle stream, other;
    hw_result (*write)(const hw_api *api, const struct request *given);
    const hw_function *function;
    const xtc_launch *given;
    uint64_t address, source, nbytes;
    uint32_t byte;
    hw_mark *mark;
} request;

static hw_handle stream_of(const xtc_device *device, xtc_native_stream stream)
{
    return stream ? (hw_handle)(uintptr_t)stream : device->kernels;
}

// Call a function when all earlier commands are done, unless the device has failed.
static int32_t call(int32_t (*function)(void *), request *given)
{
    int32_t status = hw_check(given->device);
    return status ? status : xtc_engine_call(given->device, function, given);
}

static int32_t do_launch(void *data)
{
    const request *given = data;
    char what[160];
    int32_t status = hw_check_launch(given->device, given->function, given->given);
    if (!status)
        status = hw_enter(given->device);
    if (status)
        return status;
    snprintf(what, sizeof what, "kernel '%.128s' or a kernel before it", given->function->name);
    status = hw_launch(given->device, given->function, given->given, given->stream, what);
    hw_leave(given->device);
    return status;
}

static int32_t launch(xtc_device *device, xtc_native_stream stream, xtc_function function,
                      const xtc_launch *given)
{
    return call(do_launch, &(request){.device = device,
                                      .stream = stream_of(device, stream),
                                      .function = (const hw_function *)(uintptr_t)function,
                                      .given = given});
}

static hw_result give_fill(const hw_api *api, const request *given)
{
    return api->fill(given->address, (unsigned char)given->byte, given->nbytes, given->stream);
}

static hw_result give_copy(const hw_api *api, const request *given)
{
    return api->copy_within(given->address, given->source, given->nbytes, given->stream);
}

// Check that the written memory, and the source of a copy, are allocated, and write.
static int32_t do_write(void *data)
{
    const request *given = data;
    xtc_device *device = given->device;
    bool copies = given->write == give_copy;
    int32_t status = hw_find(device, given->address, given->nbytes);
    if (!status && copies)
        status = hw_find(device, given->source, given->nbytes);
    if (!status)
        status = hw_enter(device);
    if (status)
        return status;
    status = hw_status(device, given->write(&device->api, given), XTC_MEMORY,
                       copies ? "a copy" : "a fill");
    hw_leave(device);
    return status;
}

static int32_t fill(xtc_device *device, xtc_native_stream stream, xtc_address address,
                    uint32_t byte, uint64_t nbytes)
{
    return call(do_write, &(request){.device = device,
                                     .stream = stream_of(device, stream),
                                     .write = give_fill,
                                     .address = address,
                                     .byte = byte,
                                     .nbytes = nbytes});
}

static int32_t copy(xtc_device *device, xtc_native_stream stream, xtc_address destination,
                    xtc_address source, uint64_t nbytes)
{
    return call(do_write, &(request){.device = device,
                                     .stream = stream_of(device, stream),
                                     .write = give_copy,
                                     .address = destination,
                                     .source = source,
                                     .nbytes = nbytes});
}

static int32_t do_after(void *data)
{
    const request *given = data;
    xtc_device *device = given->device;
    int32_t status = hw_enter(device);
    if (status)
        return status;
    hw_result result = device->api.event_record(device->meeting, given->other);
    if (!result)
        result = device->api.stream_follow(given->stream, device->meeting, 0);
    status = hw_status(device, result, XTC_USAGE, "waiting for another stream");
    hw_leave(device);
    return status;
}

static int32_t after(xtc_device *device, xtc_native_stream stream, xtc_native_stream other)
{
    return call(do_after, &(request){.device = device,
                                     .stream = stream_of(device, stream),
                                     .other = stream_of(device, other)});
}

static int32_t do_mark(void *data)
{
    const request *given = data;
    xtc_device *device = given->device;
    int32_t status = hw_enter(device);
    if (status)
        return status;
    hw_mark *mark = given->mark;
    hw_result result = device->api.event_create(&mark->event, 0);
    if (!result)
        result = device->api.event_record(mark->event, given->stream);
    status = hw_status(device, result, XTC_USAGE, "recording an event in a stream");
    if (status && mark->event)
        device->api.event_destroy(mark->event);
    hw_leave(device);
    if (status)
        return status;
    mark->set = hw_now();
    mark->next = device->marks;
    device->marks = mark;
    return XTC_OK;
}

static int32_t set_mark(xtc_device *device, xtc_native_stream stream, xtc_mark *set)
{
    hw_mark *mark = calloc(1, sizeof *mark);
    if (!mark)
        return xtc_fail(XTC_USAGE, "out of host memory");
    int32_t status = call(do_mark, &(request){.device = device,
                                              .stream = stream_of(device, stream),
                                              .mark = mark});
    if (status)
        free(mark);
    *set = status ? 0 : (uintptr_t)mark;
    return status;
}

static void remove_mark(xtc_device *device, hw_mark **link)
{
    hw_mark *mark = *link;
    *link = mark->next;
    device->api.event_destroy(mark->event);
    free(mark);
}

static int32_t do_unmark(void *data)
{
    const request *given = data;
    xtc_device *device = given->device;
    hw_mark **link = &device->marks;
    while (*link && *link != given->mark)
        link = &(*link)->next;
    int32_t status = *link ? hw_enter(device) : xtc_fail(XTC_USAGE, "the event does not exist");
    if (status)
        return status;
    remove_mark(device, link);
    hw_leave(device);
    return XTC_OK;
}

static int32_t unmark(xtc_device *device, xtc_mark mark)
{
    return call(do_unmark, &(request){.device = device, .mark = (hw_mark *)(uintptr_t)mark});
}

void hw_unmark_all(xtc_device *device)
{
    while (device->marks)
        remove_mark(device, &device->marks);
}

static int32_t elapsed(xtc_device *device, xtc_mark first, xtc_mark second, double *seconds)
{
    const hw_mark *begin = (const hw_mark *)(uintptr_t)first;
    const hw_mark *end = (const hw_mark *)(uintptr_t)second;
    static const char what[] = "the measured work";
    float milliseconds = 0;
    int32_t status = hw_check(device);
    if (!status)
        status = hw_enter(device);
    if (status)
        return status;
    status = hw_wait_for_event(device, end->event, end->set, what);
    if (!status)
        status = hw_status(device,
                           device->api.event_elapsed(&milliseconds, begin->event, end->event),
                           XTC_USAGE, what);
    hw_leave(device);
    *seconds = (double)milliseconds * 1e-3;
    return status;
}

static int32_t settle(xtc_device *device)
{
    int32_t status = hw_check(device);
    if (!status)
        status = hw_enter(device);
    if (status)
        return status;
    status = hw_status(device, device->api.context_wait(), XTC_LOST, "cuCtxSynchronize");
    hw_leave(device);
    return status;
}

const xtc_streams hw_streams = {
    .nbytes = sizeof hw_streams,
    .launch = launch,
    .fill = fill,
    .copy = copy,
    .after = after,
    .mark = set_mark,
    .unmark = unmark,
    .elapsed = elapsed,
    .settle = settle,
};
