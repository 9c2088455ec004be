// SPDX-License-Identifier: Apache-2.0
// Accesses whose order no barrier settles: between threads of a block, and between blocks.
#include "gpu_access.h"
#include "sim_device.h"
#include "sim_shadow.h"

static sim_shadow global, shared;
uint32_t gpu_phase;
static uint32_t block_phase;
bool gpu_watches_races;

void gpu_races_open(void)
{
    gpu_watches_races = gpu->machine.races;
    if (!gpu_watches_races)
        return;
    uint64_t address, nbytes;
    sim_device_memory(&address, &nbytes);
    sim_shadow_open(&global, address, nbytes);
    sim_shadow_open(&shared, gpu->machine.shared_address, gpu->machine.shared_bytes);
}

void gpu_races_launch(void)
{
    if (!gpu_watches_races)
        return;
    gpu_phase = 0;
    sim_shadow_forget(&global);
    sim_shadow_forget(&shared);
}

void gpu_races_block(void)
{
    if (!gpu_watches_races)
        return;
    block_phase = ++gpu_phase;
    sim_shadow_forget(&shared); // of a block alone
}

void gpu_races_resume(void)
{
    if (!gpu_watches_races)
        return;
    gpu_races_block();
    sim_shadow_forget(&global);
}

void gpu_races_acquire(void)
{
    if (gpu_watches_races)
        sim_shadow_forget(&global);
}

void gpu_races_barrier(void)
{
    gpu_phase++;
}

static _Noreturn void tell(const sim_race *race, const char *what, const char *memory)
{
    const char *other = race->other_writes ? "write" : "read";
    if (race->other_team)
        sim_fault(race->address, "race in %s memory: a %s of what another block of the launch %s",
                  memory, what, race->other_writes ? "wrote" : "read");
    if (race->other.agent == SIM_SEVERAL)
        sim_fault(race->address, "race in %s memory: no barrier is between this %s and reads by "
                  "other threads", memory, what);
    sim_fault(race->address,
              "race in %s memory: no barrier is between this %s and a %s by thread %u", memory, what,
              other, race->other.agent);
}

void gpu_races_touch(const void *address, uint32_t nbytes, bool writes)
{
    sim_agent self = {block_phase, gpu_phase, (uint16_t)gpu_running->number, CUDA_WARP,
                      gpu_warp_of(gpu_running)->steps};
    bool in_shared = (uintptr_t)address - shared.address < shared.nbytes;
    sim_race race;
    if (sim_shadow_touch(in_shared ? &shared : &global, (uintptr_t)address, nbytes, writes, &self,
                         &race))
        tell(&race, writes ? "write" : "read", in_shared ? "shared" : "global");
}
