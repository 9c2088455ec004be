// SPDX-License-Identifier: Apache-2.0
// The host side of a simulated device: its process, and requests to it.
#ifndef SIM_HOST_H
#define SIM_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "sim_channel.h"
#include "xtc_driver.h"

// Receives all texts of a launch at once, terminated by 0, on a thread that waits for it.
typedef void sim_print(const char *text, uint64_t nbytes);

// The engine serves as the lock: one thread at a time posts requests, and one waits for them.
typedef struct {
    double timeout_s; // of each kernel
    uint64_t memory_address, memory_bytes;
    size_t block_bytes; // of the target-specific block
    bool prints;        // whether launches print
    sim_print *print;   // receives the output of a launch; NULL for standard output
} sim_options;

typedef struct {
    pid_t process;
    sim_print *print;
    int file; // the shared file, until the process has it
    sim_channel *channel; // the mapping of the shared file
    size_t nbytes;
    uint32_t oldest; // the first request that was not waited for
    bool reported; // whether the cause of the failure was reported
    _Atomic bool stopped; // whether it is stopped or about to be
    _Atomic bool gone;    // whether the process has ended after that
} sim_host;

// Create the shared memory. The target then fills its block and starts the process.
int32_t sim_host_open(sim_host *sim, const sim_options *options);
int32_t sim_host_start(sim_host *sim, const char *executable);
// End the process unconditionally; pending requests return XTC_LOST. A process that runs a kernel
// first gets a SIGTERM, and time to end its child processes.
void sim_host_stop(sim_host *sim);
// XTC_LOST if the process has ended.
int32_t sim_host_check(const sim_host *sim);
// Unmap the memory.
void sim_host_release(sim_host *sim);

void *sim_host_block(const sim_host *sim);
uint8_t *sim_host_map(const sim_host *sim);
uint8_t *sim_host_memory(const sim_host *sim);

// Post a launch without waiting; at most SIM_RING are in flight.
int32_t sim_host_start_kernel(sim_host *sim, uint64_t function, const xtc_launch *launch);
// Wait for the oldest kernel in flight.
int32_t sim_host_finish_kernel(sim_host *sim);

// These wait, and need a device without kernels in flight.
int32_t sim_host_load(sim_host *sim, const void *image, uint64_t nbytes, xtc_module *module);
int32_t sim_host_unload(sim_host *sim, xtc_module module);
int32_t sim_host_function(sim_host *sim, xtc_module module, const char *name,
                          xtc_function *function);
int32_t sim_host_data(sim_host *sim, xtc_module module, const char *name, xtc_address *address,
                      uint64_t *nbytes);
// Write or read data of an image, in any memory of the simulated machine.
int32_t sim_host_copy_data(sim_host *sim, bool writes, xtc_address address, void *host,
                           uint64_t nbytes);

#endif
