// SPDX-License-Identifier: Apache-2.0
// Tensor maps, which NVIDIA's driver encodes.
#include "hw_device.h"
#include "xtc_error.h"

enum {
    NO_INTERLEAVE = 0,
    PROMOTE_TO_256_BYTES = 3, // the granularity of reads in the second-level cache
    ZEROS_OUTSIDE = 0,
};

// CUtensorMapSwizzle.
static int swizzle_of(uint64_t nbytes)
{
    return nbytes == 128 ? 3 : nbytes == 64 ? 2 : nbytes == 32 ? 1 : 0;
}

int32_t hw_make_map(xtc_device *device, const hw_map_source *source, const uint64_t *arguments,
                    hw_map *map)
{
    static const uint32_t steps[5] = {1, 1, 1, 1, 1};
    uint32_t box[5];
    void *address = (void *)(uintptr_t)(arguments[source->argument] + source->offset);
    if (!device->api.encode_map)
        return xtc_fail(XTC_LAUNCH, "the driver has no cuTensorMapEncodeTiled: CUDA 12.0 is needed");
    for (int dim = 0; dim < 5; dim++)
        box[dim] = (uint32_t)source->box[dim];
    hw_result result = device->api.encode_map(
        map, (int)source->element, (uint32_t)source->rank, address, source->sizes, source->strides,
        box, steps, NO_INTERLEAVE, swizzle_of(source->swizzle_bytes), PROMOTE_TO_256_BYTES,
        ZEROS_OUTSIDE);
    return hw_status(device, result, XTC_LAUNCH, "encoding a tensor map");
}
