// SPDX-License-Identifier: Apache-2.0
// Device code in the device process. The simulated machine defines the format of images.
#ifndef SIM_IMAGE_H
#define SIM_IMAGE_H

#include <stdint.h>

// A machine's loader of images; each function returns a status and sets this thread's message.
typedef struct {
    int32_t (*load)(const void *image, uint64_t nbytes, uint64_t *module);
    int32_t (*unload)(uint64_t module);
    int32_t (*function)(uint64_t module, const char *name, uint64_t *function);
    // Data of an image: its device address and its size.
    int32_t (*data)(uint64_t module, const char *name, uint64_t *address, uint64_t *nbytes);
    // The name of a function that was looked up in a loaded module; otherwise NULL.
    const char *(*function_name)(uint64_t function);
    // This process's pointer to bytes of data that was looked up; otherwise NULL.
    void *(*view)(uint64_t address, uint64_t nbytes);
} sim_loader;

// The loader of shared libraries for the host processor.
extern const sim_loader sim_library_loader;

#endif
