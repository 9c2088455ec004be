// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "sim_shadow.h"

#include <sys/mman.h>

#include "sim_device.h"

static sim_touch *room(uint64_t nbytes)
{
    void *bytes = mmap(NULL, nbytes * sizeof(sim_touch), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bytes == MAP_FAILED)
        sim_give_up("no address space for the shadow of its memory");
    return bytes;
}

void sim_shadow_open(sim_shadow *shadow, uint64_t address, uint64_t nbytes)
{
    *shadow = (sim_shadow){address, nbytes, room(nbytes), room(nbytes)};
}

void sim_shadow_forget(sim_shadow *shadow)
{
    madvise(shadow->writes, shadow->nbytes * sizeof(sim_touch), MADV_DONTNEED);
    madvise(shadow->reads, shadow->nbytes * sizeof(sim_touch), MADV_DONTNEED);
}

static bool same_group(const sim_touch *touch, const sim_agent *self)
{
    return touch->agent != SIM_SEVERAL && touch->agent / self->group == self->agent / self->group;
}

// Whether something settles that the access came before what the agent does now.
static bool is_before(const sim_touch *touch, const sim_agent *self)
{
    if (!touch->phase)
        return true;
    if (touch->phase < self->team_phase) // of another team
        return false;
    if (touch->phase < self->phase || touch->agent == self->agent)
        return true;
    return same_group(touch, self) && touch->step != self->step;
}

static bool met(const sim_touch *touch, bool writes, const sim_agent *self, sim_race *race)
{
    if (is_before(touch, self))
        return false;
    race->other = *touch;
    race->other_team = touch->phase < self->team_phase;
    race->other_writes = writes;
    return true;
}

// A later reader stands for earlier ones whose order to it is settled, else it is several.
static void note_read(sim_touch *read, const sim_agent *self)
{
    bool alone = is_before(read, self);
    *read = (sim_touch){self->phase, alone ? self->agent : SIM_SEVERAL, self->step};
}

bool sim_shadow_touch(sim_shadow *shadow, uint64_t address, uint64_t nbytes, bool writes,
                      const sim_agent *self, sim_race *race)
{
    uint64_t first = address - shadow->address;
    for (uint64_t byte = first; byte < first + nbytes && byte < shadow->nbytes; byte++) {
        sim_touch *write = &shadow->writes[byte], *read = &shadow->reads[byte];
        race->address = shadow->address + byte;
        if (met(write, true, self, race) || (writes && met(read, false, self, race)))
            return true;
        if (writes)
            *write = (sim_touch){self->phase, self->agent, self->step};
        else
            note_read(read, self);
    }
    return false;
}
