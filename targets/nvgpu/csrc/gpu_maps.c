// SPDX-License-Identifier: Apache-2.0
// Tensor maps that a launch creates from its arguments.
#include <string.h>

#include "gpu_sim.h"
#include "sim_device.h"

static _Alignas(128) cuda_tensor_map made[CUDA_LAUNCH_ARGUMENTS];
static uint64_t words[CUDA_LAUNCH_ARGUMENTS];
static uint32_t made_count;

static cuda_tensor_map map_of(const cuda_map_source *source, const uint64_t *arguments)
{
    cuda_tensor_map map = {.magic = CUDA_TENSOR_MAP_MAGIC,
                           .rank = (uint32_t)source->rank,
                           .element_bytes = (uint32_t)source->element_bytes,
                           .swizzle_bytes = (uint32_t)source->swizzle_bytes,
                           .rounds_to_tf32 = source->element == CUDA_TENSOR_MAP_TF32,
                           .address = arguments[source->argument] + source->offset};
    memcpy(map.sizes, source->sizes, sizeof map.sizes);
    memcpy(map.strides, source->strides, sizeof map.strides);
    for (int dim = 0; dim < 5; dim++)
        map.box[dim] = (uint32_t)source->box[dim];
    return map;
}

const uint64_t *cuda_with_maps(const uint64_t *arguments, uint32_t count,
                               const cuda_map_source *sources, uint32_t maps)
{
    if (count + maps > CUDA_LAUNCH_ARGUMENTS)
        sim_fault(0, "a launch of %u arguments and %u maps: %u are the limit", count, maps,
                  CUDA_LAUNCH_ARGUMENTS);
    memcpy(words, arguments, count * sizeof *words);
    for (uint32_t i = 0; i < maps; i++) {
        made[i] = map_of(&sources[i], arguments);
        words[count + i] = (uintptr_t)&made[i];
    }
    made_count = maps;
    return words;
}

bool gpu_is_launch_map(const void *map)
{
    uintptr_t offset = (uintptr_t)map - (uintptr_t)made;
    return offset < made_count * sizeof *made && offset % sizeof *made == 0;
}
