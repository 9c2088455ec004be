// SPDX-License-Identifier: Apache-2.0
// The simulated device's side: a process that serves requests until its host ends, and says why
// when it cannot continue.
#ifndef SIM_DEVICE_H
#define SIM_DEVICE_H

#include <stdbool.h>

#include "sim_channel.h"
#include "sim_image.h"
#include "sim_output.h"
#include "sim_text.h"
#include "xtc_driver.h"

typedef struct {
    // Runs a kernel. Whatever goes wrong ends in sim_fault.
    void (*launch)(uint64_t function, const char *name, const xtc_launch *launch);
    const sim_loader *loader; // of the machine's images; NULL: they are shared libraries
    // Appends where the processor is at this moment, such as " on cluster 2, PE 5".
    void (*where)(sim_text *text);
} sim_device_ops;

// Map the shared memory and be ready. Ends the process, and says so to the host, where it cannot.
void sim_device_attach(const sim_device_ops *ops);
void *sim_device_block(void);
// The device's main memory.
void sim_device_memory(uint64_t *address, uint64_t *nbytes);
// What the launch that runs has printed; a target whose launches print says so in its options.
sim_output *sim_device_output(void);
// Serve requests; never returns.
_Noreturn void sim_device_serve(void);

// Whether all `nbytes` at `address` are allocated; else which is the first that is not.
bool sim_device_is_allocated(uint64_t address, uint64_t nbytes, uint64_t *first_outside);

// How many bytes of each granule are allocated, from the granule of this address on.
typedef struct {
    const uint8_t *map;
    uint64_t granules, address;
} sim_allocations;
extern sim_allocations sim_device_allocations;

// Whether the bytes are those of one granule, and allocated: what most accesses are.
static inline bool sim_device_is_in_granule(uint64_t address, uint64_t nbytes)
{
    uint64_t offset = address - sim_device_allocations.address, granule = offset / SIM_GRANULE;
    return granule < sim_device_allocations.granules && nbytes - 1 < SIM_GRANULE &&
           sim_device_allocations.map[granule] >= offset % SIM_GRANULE + nbytes;
}

// Stop: a kernel broke a rule. The message names kernel, coordinates and, where it is not 0, address.
_Noreturn void sim_fault(uint64_t address, const char *rule, ...)
    __attribute__((format(printf, 2, 3)));
// The same for a longer report: a file gets the whole `report`.
_Noreturn void sim_fault_with_report(const char *report, const char *rule, ...)
    __attribute__((format(printf, 2, 3)));
// Stop for a reason that no kernel has.
_Noreturn void sim_give_up(const char *reason);

// Workers are processes that a simulator forks, each for a share of a kernel. From now on this process
// is one: the cause of its end is in `failure`, in shared memory, and it ends no other process.
void sim_fault_in_worker(sim_failure *failure);
// From now on the end of a kernel's time calls this, in a handler of signals, and ends nothing; with
// NULL it is a failure as ever.
void sim_fault_supervise(void (*time_is_over)(void));
// Tell in `failure` what ended a worker that could not do so itself; `what` is NULL where it is the end
// of its time.
void sim_fault_describe(sim_failure *failure, int32_t status, const char *what);
// Stop as a worker did.
_Noreturn void sim_fault_as(const sim_failure *failure);

// Inside the simulator: what sim_fault reports.
void sim_fault_install(sim_channel *channel, const sim_device_ops *ops);
void sim_fault_kernel_begins(const char *name);
void sim_fault_kernel_ends(void);

#endif
