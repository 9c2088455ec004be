// SPDX-License-Identifier: Apache-2.0
// Device code: PTX, cubins and fat binaries, as NVIDIA's driver loads them.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hw_device.h"
#include "xtc_error.h"

static bool is_fat(const char *image)
{
    return strncmp(image, "\x50\xed\x55\xba", 4) == 0;
}

// The message includes the output of the driver's assembler.
static int32_t load_text(xtc_device *device, const char *image, hw_handle *handle)
{
    static const char what[] = "loading device code";
    char log[XTC_MESSAGE_BYTES / 2] = "";
    int options[] = {HW_JIT_ERROR_LOG_BUFFER, HW_JIT_ERROR_LOG_BUFFER_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    hw_result result = device->api.module_load(handle, image, 2, options, values);
    int32_t status = hw_status(device, result, XTC_IMAGE, what);
    log[sizeof log - 1] = '\0';
    if (status && *log)
        xtc_fail(status, "%s\n%s", xtc_message(), log);
    if (status == XTC_IMAGE && is_fat(image))
        xtc_fail(status,
                 "%s\nthe driver may be too old for this code: with cubins='none' it assembles PTX "
                 "itself",
                 xtc_message());
    return status;
}

int32_t hw_load(xtc_device *device, const void *image, uint64_t nbytes, xtc_module *loaded)
{
    hw_module *module = calloc(1, sizeof *module);
    char *text = malloc(nbytes + 1);
    int32_t status = XTC_OK;
    if (!module || !text)
        status = xtc_fail(XTC_IMAGE, "out of host memory");
    if (!status) {
        memcpy(text, image, nbytes);
        text[nbytes] = '\0'; // PTX is text
        status = hw_enter(device);
    }
    if (!status) {
        status = load_text(device, text, &module->handle);
        hw_leave(device);
    }
    free(text);
    if (status) {
        free(module);
        return status;
    }
    module->next = device->modules;
    device->modules = module;
    *loaded = (uintptr_t)module;
    return XTC_OK;
}

static hw_module **find(xtc_device *device, xtc_module number)
{
    hw_module **link = &device->modules;
    while (*link && (uintptr_t)*link != number)
        link = &(*link)->next;
    if (!*link)
        xtc_fail(XTC_LAUNCH, "the module is not loaded");
    return link;
}

static int32_t remove_module(xtc_device *device, hw_module **link)
{
    hw_module *module = *link;
    *link = module->next;
    hw_result result = device->api.module_unload(module->handle);
    while (module->functions) {
        hw_function *function = module->functions;
        module->functions = function->next;
        free(function);
    }
    while (module->data) {
        hw_data *known = module->data;
        module->data = known->next;
        free(known);
    }
    free(module);
    return hw_status(device, result, XTC_LAUNCH, "unloading device code");
}

int32_t hw_unload(xtc_device *device, xtc_module module)
{
    hw_module **link = find(device, module);
    if (!*link)
        return XTC_LAUNCH;
    int32_t status = hw_enter(device);
    if (status)
        return status;
    status = remove_module(device, link);
    hw_leave(device);
    return status;
}

void hw_unload_all(xtc_device *device)
{
    while (device->modules)
        remove_module(device, &device->modules);
}

// Read the constant `<kernel><suffix>`, of `least` to `most` bytes.
static int32_t read_constant(xtc_device *device, hw_handle module, const hw_function *function,
                             const char *suffix, void *value, size_t least, size_t most)
{
    const hw_api *api = &device->api;
    char name[512], what[600];
    uint64_t address;
    size_t nbytes;
    snprintf(name, sizeof name, "%s%s", function->name, suffix);
    snprintf(what, sizeof what, "the constant '%s'", name);
    int32_t status =
        hw_status(device, api->module_global(&address, &nbytes, module, name), XTC_LAUNCH, what);
    if (status)
        return status;
    if (nbytes < least || nbytes > most)
        return xtc_fail(XTC_IMAGE, "%s has %zu bytes, not %zu", what, nbytes, least);
    hw_result result = api->copy_from(value, address, nbytes, device->copies);
    if (!result)
        result = api->stream_wait(device->copies);
    return hw_status(device, result, XTC_LOST, what);
}

static int32_t read_shape(xtc_device *device, hw_handle module, hw_function *function)
{
    hw_shape *shape = &function->shape;
    int32_t status = read_constant(device, module, function, "_launch", shape, HW_SHAPE_BYTES,
                                   sizeof *shape);
    if (!status && shape->parameters > HW_MAX_ARGUMENTS)
        return xtc_fail(XTC_IMAGE, "%s has %u parameters; %d is the limit", function->name,
                        shape->parameters, HW_MAX_ARGUMENTS);
    if (!status && shape->maps > HW_MAX_MAPS)
        return xtc_fail(XTC_IMAGE, "%s has %u maps; %d is the limit", function->name, shape->maps,
                        HW_MAX_MAPS);
    if (status || !shape->maps)
        return status;
    size_t nbytes = shape->maps * sizeof *function->maps;
    return read_constant(device, module, function, "_maps", function->maps, nbytes, nbytes);
}

// Static shared memory of a function. The section of its code includes what the system reserves for a block,
// and so may the driver's number: a limit is exceeded for sure only without it.
static hw_result find_static(xtc_device *device, const hw_function *function, int *fixed)
{
    const hw_api *api = &device->api;
    int reserved = 0;
    hw_result result = api->function_get(fixed, HW_FUNCTION_SHARED_BYTES, function->handle);
    if (!result && !api->device_attribute(&reserved, HW_RESERVED_SHARED_BYTES_BLOCK, device->number))
        *fixed = *fixed > reserved ? *fixed - reserved : 0;
    return result;
}

// Errors that the driver would report without their cause.
static int32_t check_fits(xtc_device *device, const hw_function *function, const char *what)
{
    const hw_api *api = &device->api;
    const hw_shape *shape = &function->shape;
    int most = 0, fixed = 0, shared = 0;
    hw_result result = api->function_get(&most, HW_FUNCTION_MAX_THREADS, function->handle);
    if (!result)
        result = find_static(device, function, &fixed);
    if (!result)
        result = api->device_attribute(&shared, HW_MAX_SHARED_BYTES_BLOCK, device->number);
    if (result)
        return hw_status(device, result, XTC_LAUNCH, what);
    uint64_t threads = (uint64_t)shape->block[0] * shape->block[1] * shape->block[2];
    if (threads > (uint64_t)most)
        return xtc_fail(XTC_LAUNCH,
                        "kernel '%s' has blocks of %llu threads, and at most %d of it fit on the GPU",
                        function->name, (unsigned long long)threads, most);
    if (shape->shared_bytes + (uint64_t)fixed > (uint64_t)shared)
        return xtc_fail(XTC_LAUNCH,
                        "kernel '%s' needs %llu bytes of shared memory, and a block has at most %d",
                        function->name, (unsigned long long)shape->shared_bytes + fixed, shared);
    return XTC_OK;
}

static int32_t prepare(xtc_device *device, hw_handle module, hw_function *function)
{
    char what[600];
    snprintf(what, sizeof what, "the function '%s'", function->name);
    hw_result result = device->api.module_function(&function->handle, module, function->name);
    int32_t status = hw_status(device, result, XTC_LAUNCH, what);
    if (!status)
        status = read_shape(device, module, function);
    if (!status)
        status = check_fits(device, function, what);
    if (status || !function->shape.shared_bytes)
        return status;
    result = device->api.function_set(function->handle, HW_FUNCTION_MAX_DYNAMIC_SHARED_BYTES,
                                      (int)function->shape.shared_bytes);
    return hw_status(device, result, XTC_LAUNCH, what);
}

static int32_t look_up(xtc_device *device, hw_module *module, const char *name,
                       xtc_function *found)
{
    size_t length = strlen(name);
    if (length > 500)
        return xtc_fail(XTC_LAUNCH, "the name of the function is longer than 500 characters");
    hw_function *function = calloc(1, sizeof *function + length + 1);
    if (!function)
        return xtc_fail(XTC_LAUNCH, "out of host memory");
    memcpy(function->name, name, length);
    int32_t status = hw_enter(device);
    if (!status) {
        status = prepare(device, module->handle, function);
        hw_leave(device);
    }
    if (status) {
        free(function);
        return status;
    }
    function->next = module->functions;
    module->functions = function;
    *found = (uintptr_t)function;
    return XTC_OK;
}

int32_t hw_function_of(xtc_device *device, xtc_module number, const char *name,
                       xtc_function *found)
{
    hw_module *module = *find(device, number);
    if (!module)
        return XTC_LAUNCH;
    for (hw_function *function = module->functions; function; function = function->next)
        if (strcmp(function->name, name) == 0) {
            *found = (uintptr_t)function;
            return XTC_OK;
        }
    return look_up(device, module, name, found);
}

static int32_t remember_data(hw_module *module, xtc_allocation span)
{
    for (const hw_data *known = module->data; known; known = known->next)
        if (known->span.address == span.address)
            return XTC_OK;
    hw_data *added = malloc(sizeof *added);
    if (!added)
        return xtc_fail(XTC_LAUNCH, "out of host memory");
    *added = (hw_data){span, module->data};
    module->data = added;
    return XTC_OK;
}

int32_t hw_data_of(xtc_device *device, xtc_module number, const char *name, xtc_address *address,
                   uint64_t *nbytes)
{
    hw_module *module = *find(device, number);
    char what[600];
    size_t size = 0;
    int32_t status = module ? hw_enter(device) : XTC_LAUNCH;
    if (status)
        return status;
    snprintf(what, sizeof what, "the data '%.500s'", name);
    hw_result result = device->api.module_global(address, &size, module->handle, name);
    status = hw_status(device, result, XTC_LAUNCH, what);
    hw_leave(device);
    *nbytes = size;
    return status ? status : remember_data(module, (xtc_allocation){.address = *address, .nbytes = size});
}

bool hw_has_data(const xtc_device *device, uint64_t address, uint64_t nbytes)
{
    for (const hw_module *module = device->modules; module; module = module->next)
        for (const hw_data *known = module->data; known; known = known->next) {
            uint64_t offset = address - known->span.address;
            if (offset <= known->span.nbytes && nbytes <= known->span.nbytes - offset)
                return true;
        }
    return false;
}
