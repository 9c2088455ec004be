// SPDX-License-Identifier: Apache-2.0
// Memory of other libraries of the process on this GPU, which use the same context.
#include "hw_device.h"
#include "xtc_error.h"

static hw_result find(xtc_device *device, uint64_t address, xtc_allocation *found, int *gpu)
{
    size_t nbytes = 0;
    hw_result result = device->api.pointer_attribute(gpu, HW_POINTER_DEVICE_ORDINAL, address);
    if (!result && *gpu == device->ordinal)
        result = device->api.address_range(&found->address, &nbytes, address);
    found->nbytes = nbytes;
    return result;
}

// Find the mappings of an array that follow one another: a library may map several allocations to consecutive
// addresses (cuMemMap), and the driver shows one at a time.
static hw_result find_all(xtc_device *device, uint64_t address, uint64_t nbytes, xtc_allocation *found, int *gpu)
{
    hw_result result = find(device, address, found, gpu);
    while (!result && *gpu == device->ordinal && nbytes > found->address + found->nbytes - address) {
        xtc_allocation next;
        result = find(device, found->address + found->nbytes, &next, gpu);
        if (!result && *gpu == device->ordinal)
            found->nbytes += next.nbytes;
    }
    return result;
}

int32_t hw_find_foreign(xtc_device *device, uint64_t address, uint64_t nbytes, xtc_allocation *found)
{
    int gpu = device->ordinal;
    int32_t status = hw_enter(device);
    if (status)
        return status;
    hw_result result = find_all(device, address, nbytes, found, &gpu);
    hw_leave(device);
    if (gpu != device->ordinal)
        return xtc_fail(XTC_MEMORY, "0x%llx is in the memory of GPU %d, not of GPU %d",
                        (unsigned long long)address, gpu, device->ordinal);
    if (result)
        return xtc_fail_outside(address, nbytes);
    return XTC_OK;
}

int32_t hw_find(xtc_device *device, uint64_t address, uint64_t nbytes)
{
    xtc_allocation found;
    if (hw_has_data(device, address, nbytes))
        return XTC_OK;
    if (xtc_allocations_find(&device->memory, address, nbytes, &found) == XTC_OK)
        return XTC_OK;
    return hw_find_foreign(device, address, nbytes, &found);
}
