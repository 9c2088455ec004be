// SPDX-License-Identifier: Apache-2.0
// Races: unordered accesses of threads of a block, or of different blocks.
//
// The time of a block is divided into epochs. An epoch begins when a barrier opens or a thread releases.
#include <stdlib.h>

#include "gpu_access.h"
#include "sim_device.h"
#include "sim_shadow.h"

static sim_shadow global, shared;
static struct {
    uint32_t epoch; // the current one
    gpu_order known;
} self;
static bool unshared; // some entries are visible to some threads only

bool gpu_watches_races;
uint32_t gpu_phase; // the epoch in which a barrier opened last

// The releases at an address.
typedef struct released released;

struct released {
    released *next;
    uintptr_t address;
    gpu_order order;
};

#define BUCKETS 1024
static released *buckets[BUCKETS];

static released *released_at(const void *address)
{
    released **found = &buckets[(uintptr_t)address / 4 % BUCKETS];
    while (*found && (*found)->address != (uintptr_t)address)
        found = &(*found)->next;
    if (!*found) {
        *found = calloc(1, sizeof **found);
        if (!*found)
            sim_give_up("no memory for the releases of blocks");
        (*found)->address = (uintptr_t)address;
    }
    return *found;
}

static void forget_released(void)
{
    for (uint32_t i = 0; i < BUCKETS; i++)
        while (buckets[i]) {
            released *first = buckets[i];
            buckets[i] = first->next;
            gpu_order_forget(&first->order);
            free(first);
        }
}

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

void gpu_races_launch(bool blocks_are_independent)
{
    if (!gpu_watches_races)
        return;
    sim_shadow_forget(&global);
    global.teams_are_apart = blocks_are_independent;
    forget_released();
}

void gpu_races_block(void)
{
    self.epoch = gpu_phase = 1;
    unshared = false;
    gpu_order_forget(&self.known);
    if (gpu_watches_races)
        sim_shadow_forget(&shared); // each block has its own
}

gpu_kept_races gpu_races_keep(void)
{
    gpu_kept_races kept = {self.epoch, gpu_phase, unshared, self.known};
    self.known = (gpu_order){0};
    return kept;
}

void gpu_races_resume(const gpu_kept_races *kept)
{
    gpu_races_block();
    self.epoch = kept->epoch;
    gpu_phase = kept->barrier;
    self.known = kept->known;
    unshared = kept->unshared;
}

static gpu_seen own(uint32_t barrier, uint16_t agent)
{
    return (gpu_seen){(uint32_t)gpu_block_number() + 1, barrier, self.epoch, agent, GPU_ALL};
}

// Add everything that the running thread has seen and done; then an epoch begins.
static void release_to(gpu_order *order)
{
    uint16_t agent = (uint16_t)gpu_running->number;
    self.epoch++;
    gpu_order_merge(order, &self.known, agent, GPU_ALL);
    gpu_order_add(order, own(gpu_phase, agent));
}

void cuda_release(const void *address, uint32_t replaces)
{
    if (!gpu_watches_races)
        return;
    released *at = released_at(address);
    gpu_order made = {0};
    release_to(&made);
    if (replaces)
        gpu_order_forget(&at->order);
    gpu_order_merge(&at->order, &made, GPU_ALL, GPU_ALL);
    gpu_order_forget(&made);
}

void cuda_acquire(const void *address)
{
    if (!gpu_watches_races)
        return;
    gpu_order_merge(&self.known, &released_at(address)->order, GPU_ALL,
                    (uint16_t)gpu_running->number);
    unshared = true;
}

void gpu_races_send(gpu_order *order)
{
    if (gpu_watches_races)
        release_to(order);
}

void gpu_races_deliver(const gpu_order *order)
{
    gpu_order_merge(&self.known, order, GPU_ALL, GPU_AT_NEXT_BARRIER);
    unshared = true;
}

void gpu_races_meet(gpu_order *order)
{
    if (!gpu_watches_races)
        return;
    self.epoch++;
    gpu_order_merge(order, &self.known, GPU_ALL, GPU_ALL);
    gpu_order_add(order, own(self.epoch, 0));
}

void gpu_races_barrier(void)
{
    gpu_phase = ++self.epoch;
    if (!unshared)
        return;
    gpu_order_share(&self.known);
    unshared = false;
}

static _Noreturn void tell(const sim_race *race, sim_access access, const char *memory)
{
    static const char *const what[] = {"read", "write", "atomic access"};
    static const char *const several[] = {"reads", "writes", "atomic accesses"};
    static const char *const did[] = {"read", "wrote", "changed"};
    uint32_t team = (uint32_t)gpu_block_number() + 1;
    if (race->other.team != team)
        sim_fault(race->address, "race in %s memory: a %s of data that another block of the launch %s",
                  memory, what[access], did[race->kind]);
    if (sim_is_several(race->other.agent))
        sim_fault(race->address, "race in %s memory: no barrier is between this %s and %s by "
                  "other threads", memory, what[access], several[race->kind]);
    sim_fault(race->address,
              "race in %s memory: no barrier is between this %s and a %s by thread %u", memory,
              what[access], what[race->kind], race->other.agent);
}

static bool sees(const sim_touch *other)
{
    uint16_t agent = (uint16_t)gpu_running->number;
    uint16_t who = sim_is_several(other->agent) ? SIM_SEVERAL : other->agent;
    return gpu_order_sees(&self.known, agent, other->team, other->epoch, who);
}

static void touch(const void *address, uint32_t nbytes, sim_access access)
{
    sim_agent agent = {(uint32_t)gpu_block_number() + 1,
                       self.epoch,
                       gpu_phase,
                       (uint16_t)gpu_running->number,
                       CUDA_WARP,
                       gpu_warp_of(gpu_running)->steps,
                       sees};
    bool in_shared = (uintptr_t)address - shared.address < shared.nbytes;
    sim_race race;
    if (sim_shadow_touch(in_shared ? &shared : &global, (uintptr_t)address, nbytes, access, &agent,
                         &race))
        tell(&race, access, in_shared ? "shared" : "global");
}

void gpu_races_touch(const void *address, uint32_t nbytes, bool writes)
{
    touch(address, nbytes, writes ? SIM_WRITES : SIM_READS);
}

void gpu_touch_atomic(const void *address, uint32_t nbytes)
{
    if (gpu_watches_races)
        touch(address, nbytes, SIM_COMBINES);
}
