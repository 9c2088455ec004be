// SPDX-License-Identifier: Apache-2.0
// Device code in the device process. What an image is, the simulated machine says.
#ifndef SIM_IMAGE_H
#define SIM_IMAGE_H

#include <stdint.h>

// How a machine loads its images; each function returns a status and sets this thread's message.
typedef struct {
    int32_t (*load)(const void *image, uint64_t nbytes, uint64_t *module);
    int32_t (*unload)(uint64_t module);
    int32_t (*function)(uint64_t module, const char *name, uint64_t *function);
    // Data of an image: where the device's code finds it, and its size.
    int32_t (*data)(uint64_t module, const char *name, uint64_t *address, uint64_t *nbytes);
    // The name of a requested function of a loaded module; else NULL.
    const char *(*function_name)(uint64_t function);
    // Requested bytes of an image's data in this process; NULL for others.
    void *(*view)(uint64_t address, uint64_t nbytes);
} sim_loader;

// Shared libraries for the processor that simulates.
extern const sim_loader sim_library_loader;

#endif
