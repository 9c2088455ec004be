// SPDX-License-Identifier: Apache-2.0
// The driver of a simulated MPPA: starts the simulator's process.
#include <string.h>

#include "driver_counters.h"
#include "mppa_config.h"
#include "xtc_error.h"

static int32_t configure(const void *given, sim_options *options, const char **executable)
{
    const mppa_config *config = given;
    const mppa_machine *machine = &config->machine;
    if (xtc_device_check_config(config, sizeof *config))
        return XTC_USAGE;
    if (machine->clusters < 1 || machine->clusters > MPPA_MAX_CLUSTERS || machine->pes < 1 ||
        machine->pes > MPPA_MAX_PES)
        return xtc_fail(XTC_USAGE, "1 to %u clusters of 1 to %u PEs can be simulated, not %u of %u",
                        MPPA_MAX_CLUSTERS, MPPA_MAX_PES, machine->clusters, machine->pes);
    if (config->trace_file && strlen(config->trace_file) >= MPPA_PATH)
        return xtc_fail(XTC_USAGE, "the path of the trace file is too long");
    *options = (sim_options){.timeout_s = config->timeout_s,
                             .memory_address = config->ddr_address,
                             .memory_bytes = config->ddr_bytes,
                             .block_bytes = sizeof(mppa_block)};
    *executable = config->executable;
    return XTC_OK;
}

static void fill(const void *given, void *memory)
{
    const mppa_config *config = given;
    mppa_block *block = memory;
    block->machine = config->machine;
    if (config->trace_file)
        memcpy(block->trace_file, config->trace_file, strlen(config->trace_file) + 1);
}

const sim_driver_target sim_driver_target_ops = {
    .configure = configure,
    .fill = fill,
    .names = mppa_counter_names_of,
    .values = mppa_counter_values,
};
