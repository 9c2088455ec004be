// SPDX-License-Identifier: Apache-2.0
// The host's side of a simulated device: its process, and requests to it.
#ifndef SIM_HOST_H
#define SIM_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "sim_channel.h"
#include "xtc_driver.h"

// Texts of one launch, all at once, on a thread that waits for it; ended by 0.
typedef void sim_print(const char *text, uint64_t nbytes);

// The engine serves as lock: requests are posted by one thread at a time, and waited for by one.
typedef struct {
    double timeout_s; // for one kernel
    uint64_t memory_address, memory_bytes;
    size_t block_bytes; // of the target's own block
    bool prints;        // whether launches print
    sim_print *print;   // takes what a launch has printed; NULL: it goes to the standard output
} sim_options;

typedef struct {
    pid_t process;
    sim_print *print;
    int file; // the shared one, until the process has it
    sim_channel *channel; // the whole shared file is mapped here
    size_t nbytes;
    uint32_t oldest; // the first request whose end was not waited for
    bool reported; // whether the cause of the failure was reported
    _Atomic bool stopped; // or about to be
    _Atomic bool gone;    // the process has ended after that
} sim_host;

// Make the shared memory. The target then fills its block, and starts the process.
int32_t sim_host_open(sim_host *sim, const sim_options *options);
int32_t sim_host_start(sim_host *sim, const char *executable);
// End the process, whatever it does; requests under way return XTC_LOST. One that runs a kernel gets
// a SIGTERM first, and a moment to end its child processes.
void sim_host_stop(sim_host *sim);
// XTC_LOST where the process has ended.
int32_t sim_host_check(const sim_host *sim);
// Unmap the memory.
void sim_host_release(sim_host *sim);

void *sim_host_block(const sim_host *sim);
uint8_t *sim_host_map(const sim_host *sim);
uint8_t *sim_host_memory(const sim_host *sim);

// Post a launch, without waiting; at most SIM_RING are under way.
int32_t sim_host_start_kernel(sim_host *sim, uint64_t function, const xtc_launch *launch);
// Wait for the kernel that was started first.
int32_t sim_host_finish_kernel(sim_host *sim);

// These wait, and only go while no kernel is under way.
int32_t sim_host_load(sim_host *sim, const void *image, uint64_t nbytes, xtc_module *module);
int32_t sim_host_unload(sim_host *sim, xtc_module module);
int32_t sim_host_function(sim_host *sim, xtc_module module, const char *name,
                          xtc_function *function);
int32_t sim_host_data(sim_host *sim, xtc_module module, const char *name, xtc_address *address,
                      uint64_t *nbytes);
// Write or read data of an image, wherever the simulated machine has it.
int32_t sim_host_copy_data(sim_host *sim, bool writes, xtc_address address, void *host,
                           uint64_t nbytes);

#endif
