// SPDX-License-Identifier: Apache-2.0
#include "hw_api.h"

#include <dlfcn.h>
#include <string.h>

#include "xtc_error.h"

typedef struct {
    const char *name;
    size_t offset;
} entry;

#define ENTRY(member, name, parameters) {name, offsetof(hw_api, member)},
static const entry entries[] = {HW_FUNCTIONS(ENTRY)};
static const entry later_entries[] = {HW_LATER_FUNCTIONS(ENTRY)};

int32_t hw_api_load(hw_api *api, const char *library)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL); // never closed: its threads may still run
    if (!handle)
        return xtc_fail(XTC_NOT_FOUND, "NVIDIA's driver cannot be loaded: %s", dlerror());
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        void *function = dlsym(handle, entries[i].name);
        if (!function)
            return xtc_fail(XTC_NOT_FOUND, "%s has no function %s\nit is too old: CUDA 11.0 is needed",
                            library, entries[i].name);
        memcpy((char *)api + entries[i].offset, &function, sizeof function);
    }
    for (size_t i = 0; i < sizeof later_entries / sizeof *later_entries; i++) {
        void *function = dlsym(handle, later_entries[i].name);
        memcpy((char *)api + later_entries[i].offset, &function, sizeof function);
    }
    return XTC_OK;
}

// The values of CUresult that imply a status.
static const struct {
    hw_result result;
    int32_t status;
} meanings[] = {
    {2, XTC_MEMORY},      // OUT_OF_MEMORY
    {3, XTC_LOST},        // NOT_INITIALIZED
    {4, XTC_LOST},        // DEINITIALIZED
    {46, XTC_LOST},       // DEVICE_UNAVAILABLE
    {100, XTC_NOT_FOUND}, // NO_DEVICE
    {101, XTC_NOT_FOUND}, // INVALID_DEVICE
    {200, XTC_IMAGE},     // INVALID_IMAGE
    {201, XTC_LOST},      // INVALID_CONTEXT
    {209, XTC_IMAGE},     // NO_BINARY_FOR_GPU
    {214, XTC_LOST},      // ECC_UNCORRECTABLE
    {218, XTC_IMAGE},     // INVALID_PTX
    {220, XTC_LOST},      // NVLINK_UNCORRECTABLE
    {221, XTC_IMAGE},     // JIT_COMPILER_NOT_FOUND
    {222, XTC_IMAGE},     // UNSUPPORTED_PTX_VERSION
    {226, XTC_LOST},      // CONTAINED
    {700, XTC_FAULT},     // ILLEGAL_ADDRESS
    {701, XTC_LAUNCH},    // LAUNCH_OUT_OF_RESOURCES
    {702, XTC_TIMEOUT},   // LAUNCH_TIMEOUT
    {709, XTC_LOST},      // CONTEXT_IS_DESTROYED
    {710, XTC_FAULT},     // ASSERT
    {714, XTC_FAULT},     // HARDWARE_STACK_ERROR
    {715, XTC_FAULT},     // ILLEGAL_INSTRUCTION
    {716, XTC_FAULT},     // MISALIGNED_ADDRESS
    {717, XTC_FAULT},     // INVALID_ADDRESS_SPACE
    {718, XTC_FAULT},     // INVALID_PC
    {719, XTC_FAULT},     // LAUNCH_FAILED
    {802, XTC_LOST},      // SYSTEM_NOT_READY
    {803, XTC_NOT_FOUND}, // SYSTEM_DRIVER_MISMATCH
    {810, XTC_LOST},      // MPS_CLIENT_TERMINATED
    {911, XTC_LOST},      // EXTERNAL_DEVICE
};

int32_t hw_api_failed(const hw_api *api, hw_result result, int32_t otherwise, const char *what)
{
    const char *name = NULL, *text = NULL;
    int32_t status = otherwise;
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (meanings[i].result == result)
            status = meanings[i].status;
    if (api->error_name(result, &name) || !name)
        return xtc_fail(status, "%s: CUDA error %d", what, result);
    if (api->error_text(result, &text) || !text)
        return xtc_fail(status, "%s: %s", what, name);
    return xtc_fail(status, "%s: %s\n%s", what, name, text);
}
