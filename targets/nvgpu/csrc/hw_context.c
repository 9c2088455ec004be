// SPDX-License-Identifier: Apache-2.0
// This driver uses the device's primary context, so that memory can be shared with other libraries of the
// process. After a fault the context is unusable until all of them have released it.
#include "hw_device.h"
#include "xtc_error.h"

int32_t hw_enter(xtc_device *device)
{
    return hw_status(device, device->api.context_push(device->context), XTC_LOST,
                     "cuCtxPushCurrent");
}

void hw_leave(xtc_device *device)
{
    hw_handle context;
    device->api.context_pop(&context);
}

static int32_t check_capability(xtc_device *device, const hw_config *config)
{
    int major = 0, minor = 0;
    hw_result result =
        device->api.device_attribute(&major, HW_COMPUTE_CAPABILITY_MAJOR, device->number);
    if (!result)
        result = device->api.device_attribute(&minor, HW_COMPUTE_CAPABILITY_MINOR, device->number);
    if (result)
        return hw_api_failed(&device->api, result, XTC_NOT_FOUND, "cuDeviceGetAttribute");
    int found = 10 * major + minor, needed = (int)(10 * config->major + config->minor);
    if (found < needed || (config->exact && found != needed))
        return xtc_fail(XTC_NOT_FOUND,
                        "GPU %u has compute capability %d.%d, and code for %s needs %u.%u%s",
                        config->number, major, minor, config->arch, config->major, config->minor,
                        config->exact ? "" : " or more");
    return XTC_OK;
}

int32_t hw_find_gpu(xtc_device *device, const hw_config *config)
{
    const hw_api *api = &device->api;
    int count = 0;
    hw_result result = api->init(0);
    if (result)
        return hw_api_failed(api, result, XTC_NOT_FOUND, "cuInit");
    result = api->device_count(&count);
    if (result)
        return hw_api_failed(api, result, XTC_NOT_FOUND, "cuDeviceGetCount");
    if (config->number >= (uint32_t)count)
        return xtc_fail(XTC_NOT_FOUND, "there is no GPU %u: the driver shows %d", config->number,
                        count);
    device->ordinal = (int)config->number;
    result = api->device_get(&device->number, (int)config->number);
    if (result)
        return hw_api_failed(api, result, XTC_NOT_FOUND, "cuDeviceGet");
    return check_capability(device, config);
}

static hw_result create_streams(xtc_device *device)
{
    const hw_api *api = &device->api;
    hw_result result = api->stream_create(&device->kernels, HW_STREAM_NON_BLOCKING);
    if (!result)
        result = api->stream_create(&device->copies, HW_STREAM_NON_BLOCKING);
    for (int i = 0; i < HW_MAX_STARTED && !result; i++)
        result = api->event_create(&device->ends[i], HW_EVENT_DISABLE_TIMING);
    if (!result)
        result = api->event_create(&device->meeting, HW_EVENT_DISABLE_TIMING);
    return result;
}

static void destroy_streams(xtc_device *device)
{
    const hw_api *api = &device->api;
    for (int i = 0; i < HW_MAX_STARTED && device->ends[i]; i++)
        api->event_destroy(device->ends[i]);
    if (device->meeting)
        api->event_destroy(device->meeting);
    hw_unmark_all(device);
    if (device->copies)
        api->stream_destroy(device->copies);
    if (device->kernels)
        api->stream_destroy(device->kernels);
}

// After a fault these calls fail, which is harmless.
void hw_context_close(xtc_device *device)
{
    if (device->api.context_push(device->context) == 0) {
        hw_unload_all(device);
        for (uint64_t i = 0; i < device->memory.count; i++)
            device->api.free(device->memory.entries[i].address);
        destroy_streams(device);
        hw_leave(device);
    }
    device->api.context_release(device->number);
}

int32_t hw_context_open(xtc_device *device)
{
    hw_result result = device->api.context_retain(&device->context, device->number);
    if (result)
        return hw_api_failed(&device->api, result, XTC_NOT_FOUND, "cuDevicePrimaryCtxRetain");
    result = device->api.context_push(device->context);
    if (!result) {
        result = create_streams(device);
        hw_leave(device);
    }
    if (!result)
        return XTC_OK;
    hw_context_close(device);
    return hw_api_failed(&device->api, result, XTC_NOT_FOUND, "the device's streams");
}
