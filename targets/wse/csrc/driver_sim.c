// SPDX-License-Identifier: Apache-2.0
// The driver of a simulated wafer: starts the simulator's process.
#include <stdlib.h>
#include <string.h>

#include "sim_driver.h"
#include "wse_config.h"
#include "xtc_error.h"

#define MEMORY_ADDRESS 0x700000000000u // address of the memory that the host and the wafer share

static const char *const counter_names[] = {
    "modelled.wse.CYCLES", "wse.HOPS", "wse.WAVELETS_DELIVERED", "wse.VECTOR_ELEMENTS", "wse.TASKS",
};

static int32_t configure(const void *given, sim_options *options, const char **executable)
{
    const wse_config *config = given;
    const char *paths[] = {config->log, config->trace};
    if (config->nbytes != sizeof *config)
        return xtc_fail(XTC_USAGE, "the configuration has %llu bytes, not %zu",
                        (unsigned long long)config->nbytes, sizeof *config);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (paths[i] && strlen(paths[i]) >= WSE_PATH)
            return xtc_fail(XTC_USAGE, "the path of an output file is too long");
    *options = (sim_options){.timeout_s = config->timeout_s,
                             .memory_address = MEMORY_ADDRESS,
                             .memory_bytes = config->memory_bytes,
                             .block_bytes = sizeof(wse_shared_block)};
    *executable = config->executable;
    return XTC_OK;
}

static void put(char *target, const char *path)
{
    if (path)
        memcpy(target, path, strlen(path) + 1);
}

static void fill(const void *given, void *shared)
{
    const wse_config *config = given;
    wse_shared_block *block = shared;
    block->settings.shuffled = config->shuffled;
    block->settings.seed = config->seed;
    block->settings.cycle_limit = config->cycle_limit;
    put(block->settings.log, config->log);
    put(block->settings.trace, config->trace);
}

static sim_counter_names *names(const void *block)
{
    (void)block;
    sim_counter_names *made = malloc(sizeof *made + sizeof counter_names);
    if (!made)
        return NULL;
    made->count = WSE_COUNTERS;
    memcpy(made->names, counter_names, sizeof counter_names);
    return made;
}

static void values(const void *shared, const xtc_copies *copies, uint64_t *values)
{
    const wse_shared_block *block = shared;
    (void)copies;
    memcpy(values, block->counters, sizeof block->counters);
}

const sim_driver_target sim_driver_target_ops = {
    .configure = configure, .fill = fill, .names = names, .values = values,
};
