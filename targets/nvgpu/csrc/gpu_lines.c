// SPDX-License-Identifier: Apache-2.0
// What the host needs to explain a fault of a thread: its line, and the promise that does not hold.
#include "gpu_sim.h"
#include "sim_device.h"

void cuda_line(uint32_t number)
{
    gpu_running->line = number;
}

void cuda_require(uint32_t holds, uint32_t promise)
{
    gpu_require_thread("cuda_require");
    if (!holds)
        sim_fault(0, "promise %u does not hold", promise);
}
