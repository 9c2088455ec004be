// SPDX-License-Identifier: Apache-2.0
// The driver of a simulated device; a target adds its machine and its counters.
#ifndef SIM_DRIVER_H
#define SIM_DRIVER_H

#include "sim_host.h"
#include "xtc_copies.h"
#include "xtc_device.h"

typedef struct {
    uint32_t count;
    const char *names[]; // may be followed by the texts
} sim_counter_names;

typedef struct {
    // Check the configuration of `open`; return the executable to start. Returns a status.
    int32_t (*configure)(const void *config, sim_options *options, const char **executable);
    bool has_grid; // whether launches may have a grid
    bool has_clusters; // and clusters
    // Fill the block that host and device share.
    void (*fill)(const void *config, void *block);
    // All names, in the order of the values; the caller frees them; NULL if memory is exhausted.
    sim_counter_names *(*names)(const void *block);
    void (*values)(const void *block, const xtc_copies *copies, uint64_t *values);
} sim_driver_target;

extern const sim_driver_target sim_driver_target_ops; // the target defines it

#endif
