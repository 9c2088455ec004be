// SPDX-License-Identifier: Apache-2.0
// Checks reported accesses: each must stay in its buffer, must not conflict with a transfer in
// flight, and must be ordered with those of other PEs and clusters by a fork, a join or the end of
// a launch.
#include <inttypes.h>

#include "dev.h"
#include "mppa_sim.h"
#include "sim_device.h"
#include "sim_shadow.h"

#define CONTROL MPPA_MAX_PES // the number of control code, after the PEs
#define BUFFERS 4096         // of a kernel

typedef struct {
    uint64_t address, nbytes;
} span;

static sim_shadow ddr, smem;
static uint32_t phase, cluster_phase; // the current one, and the first one of the running cluster
static span buffers[BUFFERS]; // in the SMEM of the running cluster
static uint32_t buffer_count;

void mppa_watch_open(void)
{
    if (!mppa->machine.watched)
        return;
    uint64_t address, nbytes;
    sim_device_memory(&address, &nbytes);
    sim_shadow_open(&ddr, address, nbytes);
    ddr.teams_are_apart = true; // nothing orders the clusters of a launch
    sim_shadow_open(&smem, mppa_smem(0), mppa->machine.smem_bytes);
}

void mppa_watch_launch(void)
{
    if (!mppa->machine.watched)
        return;
    phase = 0;
    sim_shadow_forget(&ddr);
}

void mppa_watch_cluster(void)
{
    if (!mppa->machine.watched)
        return;
    cluster_phase = ++phase;
    buffer_count = 0;
    smem.address = mppa_smem(here.cluster);
    sim_shadow_forget(&smem);
}

void mppa_watch_step(void)
{
    phase++;
}

void dev_buffer(uint64_t offset, uint64_t nbytes)
{
    mppa_require_control("dev_buffer");
    if (offset > mppa->machine.smem_bytes || nbytes > mppa->machine.smem_bytes - offset)
        sim_fault(0, "dev_buffer of %" PRIu64 " bytes at %#" PRIx64 " does not fit in SMEM", nbytes,
                  offset);
    if (mppa->machine.watched && buffer_count < BUFFERS)
        buffers[buffer_count++] = (span){mppa_smem(here.cluster) + offset, nbytes};
}

static bool holds(const span *buffer, uint64_t address, uint64_t nbytes)
{
    uint64_t offset = address - buffer->address;
    return offset < buffer->nbytes && nbytes <= buffer->nbytes - offset;
}

// Buffers with disjoint lifetimes may share memory: any buffer that contains the base will do.
static void check_smem(uint64_t base, uint64_t address, uint64_t nbytes, const char *what)
{
    span all = {smem.address, smem.nbytes};
    const span *own = buffer_count ? NULL : &all;
    for (uint32_t i = 0; i < buffer_count; i++) {
        if (!holds(&buffers[i], base, 1))
            continue;
        own = &buffers[i];
        if (holds(own, address, nbytes))
            return;
    }
    if (!own)
        sim_fault(address, "%s of %" PRIu64 " bytes outside all buffers in SMEM", what, nbytes);
    if (!holds(own, address, nbytes))
        sim_fault(address, "%s of %" PRIu64 " bytes outside its buffer in SMEM, %" PRIu64
                  " bytes from %#" PRIx64 " on", what, nbytes, own->nbytes, own->address);
}

static void check_ddr(uint64_t base, uint64_t address, uint64_t nbytes, const char *what)
{
    uint64_t low = base < address ? base : address;
    uint64_t end = base < address + nbytes ? address + nbytes : base + 1, outside;
    if (sim_device_is_allocated(low, end - low, &outside))
        return;
    if (base < address)
        sim_fault(address, "%s of %" PRIu64 " bytes outside its buffer in DDR, which ends at %#" PRIx64,
                  what, nbytes, outside);
    sim_fault(address, "%s of %" PRIu64 " bytes outside an allocation in DDR", what, nbytes);
}

static bool is_in(const sim_shadow *shadow, uint64_t address)
{
    return address - shadow->address < shadow->nbytes;
}

static sim_shadow *shadow_of(uint64_t address)
{
    return is_in(&smem, address) ? &smem : &ddr;
}

static bool is_of_another_cluster(const sim_race *race)
{
    return race->other.team != cluster_phase;
}

static _Noreturn void tell(const sim_race *race, const char *what)
{
    const char *memory = shadow_of(race->address) == &smem ? "SMEM" : "DDR";
    bool wrote = race->kind == SIM_WRITES;
    if (is_of_another_cluster(race))
        sim_fault(race->address, "race in %s: a %s of what another cluster of the launch %s", memory,
                  what, wrote ? "wrote" : "read");
    if (sim_is_several(race->other.agent))
        sim_fault(race->address, "race in %s: nothing orders this %s and reads by other PEs", memory,
                  what);
    sim_fault(race->address, "race in %s: nothing orders this %s and a %s by PE %u", memory, what,
              wrote ? "write" : "read", race->other.agent == CONTROL ? 0 : race->other.agent);
}

static bool sees_no_other_cluster(const sim_touch *other)
{
    (void)other;
    return false;
}

static bool is_race(uint64_t address, uint64_t nbytes, bool writes, sim_race *race)
{
    uint16_t agent = here.pe == NOBODY ? CONTROL : (uint16_t)here.pe;
    sim_agent self = {cluster_phase, phase, phase, agent, 1, 0, sees_no_other_cluster};
    sim_access access = writes ? SIM_WRITES : SIM_READS;
    return sim_shadow_touch(shadow_of(address), address, nbytes, access, &self, race);
}

// Tiles of two clusters may overlap if both write the same values.
void mppa_watch_transfer(const char *to, const char *from, uint64_t nbytes)
{
    sim_race race;
    if (!mppa->machine.watched)
        return;
    if (is_race((uintptr_t)from, nbytes, false, &race))
        tell(&race, "read");
    for (uint64_t done = 0; done < nbytes;) {
        if (!is_race((uintptr_t)to + done, nbytes - done, true, &race))
            return;
        done = race.address - (uintptr_t)to;
        if (!is_of_another_cluster(&race) || to[done] != from[done])
            tell(&race, "write");
        done++;
    }
}

void dev_access(const void *from, const void *to, uint64_t nbytes, uint32_t writes)
{
    if (!mppa->machine.watched || here.cluster == NOBODY)
        return;
    uint64_t base = (uintptr_t)from, address = (uintptr_t)to;
    const char *what = writes ? "write" : "read";
    if (is_in(&smem, base))
        check_smem(base, address, nbytes, what);
    else if (is_in(&ddr, base))
        check_ddr(base, address, nbytes, what);
    else if (!is_in(&smem, address) && !is_in(&ddr, address))
        return; // private memory, such as the stack
    mppa_dma_require_free(address, nbytes, writes);
    sim_race race;
    if (is_race(address, nbytes, writes, &race))
        tell(&race, what);
}
