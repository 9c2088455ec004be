// SPDX-License-Identifier: Apache-2.0
// Tensor maps that a launch creates from its arguments and passes by value.
#ifndef HW_MAPS_H
#define HW_MAPS_H

#include <stdint.h>

#include "hw_api.h"
#include "xtc_device.h"

#define HW_MAX_MAPS 8

// An element of a module's constant `<kernel>_maps`: the number of the argument with the tensor's address, the
// type as CUtensorMapDataType, and an offset in bytes. The contiguous dimension comes first; its stride is
// omitted.
typedef struct {
    uint64_t argument, element, element_bytes, rank, swizzle_bytes, offset;
    uint64_t sizes[5], strides[4], box[5];
} hw_map_source;

typedef struct {
    _Alignas(128) unsigned char bytes[128]; // CUtensorMap
} hw_map;

// XTC_LAUNCH if the driver refuses the map or lacks the function.
int32_t hw_make_map(xtc_device *device, const hw_map_source *source, const uint64_t *arguments,
                    hw_map *map);

#endif
