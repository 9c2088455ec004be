// SPDX-License-Identifier: Apache-2.0
// Maps of tensors that a launch makes of its arguments, and hands over by value.
#ifndef HW_MAPS_H
#define HW_MAPS_H

#include <stdint.h>

#include "hw_api.h"
#include "xtc_device.h"

#define HW_MAX_MAPS 8

// An element of a module's constant `<kernel>_maps`: the argument that is the address of the memory,
// its type as CUtensorMapDataType, and an offset in bytes. Dimensions begin with the dense one, whose
// stride is left out.
typedef struct {
    uint64_t argument, element, element_bytes, rank, swizzle_bytes, offset;
    uint64_t sizes[5], strides[4], box[5];
} hw_map_source;

typedef struct {
    _Alignas(64) unsigned char bytes[128]; // CUtensorMap
} hw_map;

// XTC_LAUNCH where the driver makes none, or has no function for it.
int32_t hw_make_map(xtc_device *device, const hw_map_source *source, const uint64_t *arguments,
                    hw_map *map);

#endif
