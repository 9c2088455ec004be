// SPDX-License-Identifier: Apache-2.0
#include "xtc_device.h"

#include "xtc_error.h"

static const xtc_device_ops *const own = &xtc_device_own;

// A device begins with its engine.
xtc_engine *xtc_engine_of(xtc_device *device)
{
    return (xtc_engine *)device;
}

int32_t xtc_device_check_config(const void *config, uint64_t nbytes)
{
    const uint64_t *given = config;
    if (*given == nbytes)
        return XTC_OK;
    return xtc_fail(XTC_USAGE, "the configuration has %llu bytes, not %llu",
                    (unsigned long long)*given, (unsigned long long)nbytes);
}

static int32_t check(xtc_device *device)
{
    int32_t status = xtc_engine_check(xtc_engine_of(device));
    return status || !own->check ? status : own->check(device);
}

static int32_t open_device(const void *config, xtc_device **device)
{
    return own->open(config, device);
}

static int32_t close_device(xtc_device *device)
{
    if (xtc_engine_check(xtc_engine_of(device)))
        return XTC_LOST; // closed, or in a forked child, whose parent owns the device
    if (own->stop)
        own->stop(device);
    if (xtc_engine_runs_here(xtc_engine_of(device)))
        return xtc_fail(XTC_USAGE, "a callback cannot close its device");
    xtc_engine_close(device);
    return own->close ? own->close(device) : XTC_OK;
}

static void release(xtc_device *device)
{
    xtc_engine_release(xtc_engine_of(device));
    own->release(device);
}

static int32_t alloc(xtc_device *device, xtc_queue queue, uint64_t nbytes, xtc_address *address)
{
    *address = 0;
    int32_t status = check(device);
    if (!status)
        status = own->alloc(device, nbytes, address);
    return xtc_engine_stop(device, queue, status);
}

static int32_t free_memory(xtc_device *device, xtc_address address)
{
    int32_t status = check(device);
    return status ? status : own->free(device, address);
}

static int32_t span(xtc_device *device, xtc_address address, xtc_address *start, uint64_t *nbytes)
{
    *start = *nbytes = 0;
    int32_t status = check(device);
    return status ? status : own->span(device, address, start, nbytes);
}

static int32_t memory(xtc_device *device, uint64_t *used, uint64_t *size)
{
    *used = *size = 0;
    int32_t status = check(device);
    return status ? status : own->memory(device, used, size);
}

static int32_t memories(xtc_device *device, uint32_t *count)
{
    *count = own->memories ? own->memories(device) : 1;
    return check(device);
}

static int32_t shard(xtc_device *device, uint64_t nbytes, uint64_t shard_bytes,
                     xtc_address *address)
{
    if (shard_bytes >= nbytes) // the first memory has all of it
        return own->alloc(device, shard_bytes, address);
    if (!own->alloc_sharded)
        return xtc_fail(XTC_USAGE, "shards of %llu of %llu bytes need several memories, and the "
                        "device has one", (unsigned long long)shard_bytes,
                        (unsigned long long)nbytes);
    return own->alloc_sharded(device, nbytes, shard_bytes, address);
}

static int32_t alloc_sharded(xtc_device *device, xtc_queue queue, uint64_t nbytes,
                             uint64_t shard_bytes, xtc_address *address)
{
    *address = 0;
    int32_t status = check(device);
    if (!status)
        status = shard(device, nbytes, shard_bytes, address);
    return xtc_engine_stop(device, queue, status);
}

// A call that waits for earlier commands.
typedef struct {
    xtc_device *device;
    const void *image;
    const char *name;
    uint64_t nbytes, module, result;
} request;

static int32_t call(xtc_device *device, int32_t (*function)(void *), request *given)
{
    int32_t status = check(device);
    return status ? status : xtc_engine_call(device, function, given);
}

static int32_t do_load(void *data)
{
    request *given = data;
    return own->load(given->device, given->image, given->nbytes, &given->result);
}

static int32_t load(xtc_device *device, const void *image, uint64_t nbytes, xtc_module *module)
{
    request given = {.device = device, .image = image, .nbytes = nbytes};
    int32_t status = call(device, do_load, &given);
    *module = given.result;
    return status;
}

static int32_t do_unload(void *data)
{
    request *given = data;
    return own->unload(given->device, given->module);
}

static int32_t unload(xtc_device *device, xtc_module module)
{
    return call(device, do_unload, &(request){.device = device, .module = module});
}

static int32_t do_function(void *data)
{
    request *given = data;
    return own->function(given->device, given->module, given->name, &given->result);
}

static int32_t function(xtc_device *device, xtc_module module, const char *name,
                        xtc_function *found)
{
    request given = {.device = device, .module = module, .name = name};
    int32_t status = call(device, do_function, &given);
    *found = given.result;
    return status;
}

static int32_t do_data(void *data)
{
    request *given = data;
    if (!own->data)
        return xtc_fail(XTC_LAUNCH, "images of this device have no named data");
    return own->data(given->device, given->module, given->name, &given->result, &given->nbytes);
}

static int32_t data(xtc_device *device, xtc_module module, const char *name, xtc_address *address,
                    uint64_t *nbytes)
{
    request given = {.device = device, .module = module, .name = name};
    int32_t status = call(device, do_data, &given);
    *address = given.result;
    *nbytes = given.nbytes;
    return status;
}

static int32_t counters(xtc_device *device, uint32_t *count, const char *const **names,
                        uint64_t *values)
{
    int32_t status = xtc_engine_check(xtc_engine_of(device));
    return status ? status : own->counters(device, count, names, values);
}

static const xtc_streams *streams(void)
{
    return own->streams;
}

static const xtc_driver table = {
    .version = XTC_DRIVER_VERSION,
    .nbytes = sizeof table,
    .message = xtc_message,
    .fail = xtc_fail_with,
    .open = open_device,
    .close = close_device,
    .release = release,
    .alloc = alloc,
    .free = free_memory,
    .span = span,
    .memory = memory,
    .load = load,
    .unload = unload,
    .symbol = function,
    .queue_open = xtc_engine_queue_open,
    .queue_close = xtc_engine_queue_close,
    .copy_to = xtc_engine_copy_to,
    .copy_from = xtc_engine_copy_from,
    .copy_within = xtc_engine_copy_within,
    .fill = xtc_engine_fill,
    .launch = xtc_engine_launch,
    .callback = xtc_engine_callback,
    .after = xtc_engine_after,
    .event = xtc_engine_event,
    .done = xtc_engine_done,
    .wait = xtc_engine_wait,
    .counters = counters,
    .data = data,
    .memories = memories,
    .alloc_sharded = alloc_sharded,
    .streams = streams,
};

const xtc_driver *xtc_driver_table(void)
{
    return &table;
}
