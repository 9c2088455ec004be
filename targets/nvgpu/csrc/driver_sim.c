// SPDX-License-Identifier: Apache-2.0
// The host's side of a simulated GPU: its configuration and its counters.
#include <stdlib.h>
#include <string.h>

#include "gpu_config.h"
#include "sim_driver.h"
#include "xtc_error.h"

#define EVENT_NAME(name) "nvgpu." #name,
static const char *const names[] = {XTC_COPY_NAMES("nvgpu."), GPU_EVENTS(EVENT_NAME)};
#define NAMES (sizeof names / sizeof *names)
#define ONE(name) +1
static const size_t bank_events = 0 GPU_BANK_EVENTS(ONE);

static int32_t configure(const void *given, sim_options *options, const char **executable)
{
    const gpu_config *config = given;
    if (xtc_device_check_config(config, sizeof *config))
        return XTC_USAGE;
    if (config->machine.max_block_threads > GPU_MAX_THREADS)
        return xtc_fail(XTC_USAGE, "blocks have up to %u threads on the simulator, not %u", GPU_MAX_THREADS,
                        config->machine.max_block_threads);
    if (config->machine.cores < 1 || config->machine.cores > GPU_MAX_WORKERS)
        return xtc_fail(XTC_USAGE, "blocks run on 1 to %u cores, not on %u", GPU_MAX_WORKERS,
                        config->machine.cores);
    *options = (sim_options){.timeout_s = config->timeout_s,
                             .memory_address = config->memory_address,
                             .memory_bytes = config->memory_bytes,
                             .block_bytes = sizeof(gpu_block),
                             .prints = true,
                             .print = config->print};
    *executable = config->executable;
    return XTC_OK;
}

static void fill(const void *given, void *block)
{
    ((gpu_block *)block)->machine = ((const gpu_config *)given)->machine;
}

static size_t hidden_events(const void *block)
{
    return ((const gpu_block *)block)->machine.banks ? 0 : bank_events;
}

static sim_counter_names *counter_names(const void *block)
{
    sim_counter_names *all = malloc(sizeof *all + sizeof names);
    if (!all)
        return NULL;
    all->count = NAMES - hidden_events(block);
    memcpy(all->names, names, sizeof names);
    return all;
}

static void counter_values(const void *block, const xtc_copies *copies, uint64_t *values)
{
    values = xtc_copies_values(copies, values);
    size_t count = GPU_EVENT_COUNT - hidden_events(block);
    memcpy(values, ((const gpu_block *)block)->counters, count * sizeof *values);
}

const sim_driver_target sim_driver_target_ops = {
    .configure = configure,
    .has_grid = true,
    .has_clusters = true,
    .fill = fill,
    .names = counter_names,
    .values = counter_values,
};
