// SPDX-License-Identifier: Apache-2.0
// The device side of a simulated device: a process that serves requests until its host ends, and
// reports the cause if it fails.
#ifndef SIM_DEVICE_H
#define SIM_DEVICE_H

#include <stdbool.h>

#include "sim_channel.h"
#include "sim_image.h"
#include "sim_output.h"
#include "sim_text.h"
#include "xtc_driver.h"

typedef struct {
    // Runs a kernel. Errors call sim_fault.
    void (*launch)(uint64_t function, const char *name, const xtc_launch *launch);
    const sim_loader *loader; // of the machine's images; NULL for shared libraries
    // Appends the current coordinates, such as " on cluster 2, PE 5".
    void (*where)(sim_text *text);
} sim_device_ops;

// Map the shared memory and become ready. On failure, tells the host and ends the process.
void sim_device_attach(const sim_device_ops *ops);
void *sim_device_block(void);
// The device's main memory.
void sim_device_memory(uint64_t *address, uint64_t *nbytes);
// The output of the running launch; a target whose launches print declares that in its options.
sim_output *sim_device_output(void);
// Serve requests; never returns.
_Noreturn void sim_device_serve(void);

// Whether all `nbytes` at `address` are allocated; otherwise stores the first that is not.
bool sim_device_is_allocated(uint64_t address, uint64_t nbytes, uint64_t *first_outside);

// The number of allocated bytes of each granule, from the granule of `address` on.
typedef struct {
    const uint8_t *map;
    uint64_t granules, address;
} sim_allocations;
extern sim_allocations sim_device_allocations;

// Whether the bytes are in one granule and allocated: the fast path of most accesses.
static inline bool sim_device_is_in_granule(uint64_t address, uint64_t nbytes)
{
    uint64_t offset = address - sim_device_allocations.address, granule = offset / SIM_GRANULE;
    return granule < sim_device_allocations.granules && nbytes - 1 < SIM_GRANULE &&
           sim_device_allocations.map[granule] >= offset % SIM_GRANULE + nbytes;
}

// Stop, as a kernel broke a rule. The message names the kernel, the coordinates and a nonzero
// address.
_Noreturn void sim_fault(uint64_t address, const char *rule, ...)
    __attribute__((format(printf, 2, 3)));
// The same with a longer report, which is written to a file.
_Noreturn void sim_fault_with_report(const char *report, const char *rule, ...)
    __attribute__((format(printf, 2, 3)));
// Stop for a cause outside of kernels.
_Noreturn void sim_give_up(const char *reason);

// A simulator forks worker processes, each for a share of a kernel. Makes this process a worker: it
// stores the cause of its end in `failure`, in shared memory, and ends no other process.
void sim_fault_in_worker(sim_failure *failure);
// From now on a kernel's timeout only calls this function, in a signal handler; with NULL it is a
// failure again.
void sim_fault_supervise(void (*time_is_over)(void));
// Store in `failure` the cause of the end of a worker that could not do so; `what` is NULL for its
// timeout.
void sim_fault_describe(sim_failure *failure, int32_t status, const char *what);
// Stop for the failure of a worker.
_Noreturn void sim_fault_as(const sim_failure *failure);

// Internal: the state that sim_fault reports.
void sim_fault_install(sim_channel *channel, const sim_device_ops *ops);
void sim_fault_kernel_begins(const char *name);
void sim_fault_kernel_ends(void);

#endif
