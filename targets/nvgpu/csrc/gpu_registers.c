// SPDX-License-Identifier: Apache-2.0
// Registers that warpgroups reallocate: one may take those that another has released.
#include "gpu_sim.h"
#include "sim_device.h"

#define GROUP 128 // threads
#define STEP 8
#define LEAST 24
#define MOST 256

void gpu_registers_begin(void)
{
    for (uint32_t i = 0; i < gpu_thread_count; i++) {
        gpu_threads[i].registers = gpu_shape.registers;
        gpu_threads[i].wanted_registers = 0;
    }
}

static gpu_thread *group_of(const gpu_thread *thread)
{
    return &gpu_threads[thread->number / GROUP * GROUP];
}

// The registers of the block that no thread has.
static uint32_t left(void)
{
    uint32_t taken = 0;
    for (uint32_t i = 0; i < gpu_thread_count; i++)
        taken += gpu_threads[i].registers;
    return gpu_shape.registers * gpu_thread_count - taken;
}

static uint32_t arrived(const gpu_thread *group)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < GROUP; i++)
        count += group[i].wanted_registers != 0;
    return count;
}

// Give a warpgroup, all threads of which wait, the registers that it requests, if they are free.
static bool give(gpu_thread *group)
{
    uint32_t wanted = group->wanted_registers, has = group->registers;
    if (wanted > has && (wanted - has) * GROUP > left())
        return false;
    for (uint32_t i = 0; i < GROUP; i++) {
        group[i].registers = wanted;
        group[i].wanted_registers = 0;
        if (group[i].state == GPU_AT_REGISTERS)
            group[i].state = GPU_READY;
    }
    return true;
}

static void require_legal(uint32_t count, bool increase)
{
    const gpu_thread *thread = gpu_running;
    const char *what = increase ? "setmaxnreg.inc" : "setmaxnreg.dec";
    if (!gpu_shape.registers)
        sim_fault(0, "%s in a kernel that does not set the registers of a thread", what);
    if (count % STEP || count < LEAST || count > MOST)
        sim_fault(0, "%s to %u registers: a multiple of %d from %d to %d is allowed", what, count, STEP,
                  LEAST, MOST);
    if (increase ? count < thread->registers : count > thread->registers)
        sim_fault(0, "%s to %u registers of a thread that has %u", what, count, thread->registers);
    if ((thread->number / GROUP + 1) * GROUP > gpu_thread_count)
        sim_fault(0, "%s by the last %u threads of a block: warpgroups have %u", what,
                  gpu_thread_count % GROUP, GROUP);
    const gpu_thread *group = group_of(thread);
    for (uint32_t i = 0; i < GROUP; i++)
        if (group[i].wanted_registers && group[i].wanted_registers != count)
            sim_fault(0, "%s to %u registers, and to %u by another thread of the warpgroup", what, count,
                      group[i].wanted_registers);
}

void cuda_set_registers(uint32_t count, bool increase)
{
    gpu_require_thread("setmaxnreg");
    gpu_require_converged("setmaxnreg");
    require_legal(count, increase);
    gpu_thread *thread = gpu_running, *group = group_of(thread);
    thread->wanted_registers = count;
    if (arrived(group) < GROUP || !give(group)) {
        gpu_wait(GPU_AT_REGISTERS);
        return;
    }
    for (uint32_t first = 0; first + GROUP <= gpu_thread_count; first += GROUP)
        if (arrived(&gpu_threads[first]) == GROUP)
            give(&gpu_threads[first]);
}

void gpu_registers_deadlock(const gpu_thread *thread)
{
    uint32_t count = arrived(group_of(thread));
    if (count < GROUP)
        sim_fault_with_report(gpu_thread_report(),
                              "deadlock: setmaxnreg waits for all threads of a warpgroup, of which %u have "
                              "arrived",
                              count);
    sim_fault_with_report(gpu_thread_report(),
                          "deadlock: a warpgroup waits for %u registers per thread, and of the block's %u "
                          "only %u are free",
                          thread->wanted_registers, gpu_shape.registers * gpu_thread_count, left());
}
