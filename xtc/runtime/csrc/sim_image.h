// SPDX-License-Identifier: Apache-2.0
// Device code in the device process: shared libraries, opened from memory.
#ifndef SIM_IMAGE_H
#define SIM_IMAGE_H

#include "sim_channel.h"

// Each serves the request of its name.
void sim_image_load(sim_request *request, const void *image);
void sim_image_unload(sim_request *request);
void sim_image_symbol(sim_request *request);

// The name that a function of a loaded module was asked for by; NULL for anything else.
const char *sim_image_function_name(uint64_t function);

#endif
