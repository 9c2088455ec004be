// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "sim_shadow.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "sim_device.h"

// Accesses of several teams to a byte, as lists with shared tails; list 0 is empty.
typedef struct {
    uint32_t rest;
    sim_touch touch;
} several;

static several *lists;
static uint32_t list_count, list_room;

static uint32_t with(uint32_t rest, const sim_touch *touch)
{
    const several *last = lists + list_count - 1;
    if (list_count > 1 && last->rest == rest && !memcmp(&last->touch, touch, sizeof *touch))
        return list_count - 1; // the list of the previous byte
    if (list_count == list_room) {
        list_room = list_room ? 2 * list_room : 1024;
        lists = realloc(lists, list_room * sizeof *lists);
        if (!lists)
            sim_give_up("no memory for the accesses of several teams");
    }
    if (!list_count)
        lists[list_count++] = (several){0};
    lists[list_count] = (several){rest, *touch};
    return list_count++;
}

static void *map_zeroed(uint64_t nbytes)
{
    void *bytes = mmap(NULL, nbytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bytes == MAP_FAILED)
        sim_give_up("no address space for the shadow of its memory");
    return bytes;
}

void sim_shadow_open(sim_shadow *shadow, uint64_t address, uint64_t nbytes)
{
    *shadow = (sim_shadow){.address = address, .nbytes = nbytes};
    for (int kind = 0; kind < 3; kind++) {
        shadow->last[kind] = map_zeroed(nbytes * sizeof(sim_touch));
        shadow->others[kind] = map_zeroed(nbytes * sizeof(uint32_t));
    }
}

void sim_shadow_forget(sim_shadow *shadow)
{
    for (int kind = 0; kind < 3; kind++) {
        if (shadow->has[kind])
            madvise(shadow->last[kind], shadow->nbytes * sizeof(sim_touch), MADV_DONTNEED);
        if (shadow->has_others[kind]) {
            madvise(shadow->others[kind], shadow->nbytes * sizeof(uint32_t), MADV_DONTNEED);
            list_count = 0; // lists belong to the only memory that teams share
        }
        shadow->has[kind] = shadow->has_others[kind] = false;
    }
}

static uint16_t group_of(uint16_t agent, const sim_agent *self)
{
    return sim_is_several(agent) ? agent - SIM_SEVERAL_OF_GROUP : agent / self->group;
}

static bool same_group(const sim_touch *touch, const sim_agent *self)
{
    return touch->agent != SIM_SEVERAL && group_of(touch->agent, self) == group_of(self->agent, self);
}

// Whether the access happens before the agent's current access.
static bool is_before(const sim_touch *touch, const sim_agent *self)
{
    if (!touch->team)
        return true;
    if (touch->team != self->team)
        return self->sees(touch);
    if (touch->epoch < self->barrier || touch->agent == self->agent)
        return true;
    return same_group(touch, self) && touch->step != self->step;
}

// Whether an access to a byte races with an earlier access of a kind.
static bool met(const sim_shadow *shadow, uint64_t byte, sim_access kind, const sim_agent *self,
                sim_race *race)
{
    if (!shadow->has[kind])
        return false;
    const sim_touch *touch = &shadow->last[kind][byte];
    uint32_t rest = shadow->has_others[kind] ? shadow->others[kind][byte] : 0;
    while (is_before(touch, self)) {
        if (!rest)
            return false;
        touch = &lists[rest].touch;
        rest = lists[rest].rest;
    }
    race->address = shadow->address + byte;
    race->other = *touch;
    race->kind = kind;
    return true;
}

// Record an access, which replaces the earlier accesses that happen before it.
static void note(sim_shadow *shadow, uint64_t byte, sim_access kind, const sim_agent *self)
{
    sim_touch *last = &shadow->last[kind][byte];
    bool alone = is_before(last, self), same_team = last->team == self->team;
    uint32_t *others = &shadow->others[kind][byte];
    if (!alone && !same_team && !(shadow->teams_are_apart && shadow->has_others[kind] && *others)) {
        *others = with(shadow->has_others[kind] ? *others : 0, last);
        shadow->has_others[kind] = true;
    }
    uint16_t agent = self->agent;
    if (!alone && same_team) // in the same step, if of the same group
        agent = same_group(last, self) ? SIM_SEVERAL_OF_GROUP + group_of(agent, self) : SIM_SEVERAL;
    *last = (sim_touch){self->team, self->epoch, agent, self->step};
}

// Record a write, which all accesses happen before, as it did not race with any.
static void note_write(sim_shadow *shadow, uint64_t byte, const sim_agent *self)
{
    shadow->last[SIM_WRITES][byte] =
        (sim_touch){self->team, self->epoch, self->agent, self->step};
    for (int kind = 0; kind < 3; kind++) {
        if (kind != SIM_WRITES && shadow->has[kind])
            shadow->last[kind][byte] = (sim_touch){0};
        if (kind != SIM_WRITES && shadow->has_others[kind])
            shadow->others[kind][byte] = 0;
    }
}

static bool touch_byte(sim_shadow *shadow, uint64_t byte, sim_access access, const sim_agent *self,
                       sim_race *race)
{
    if (met(shadow, byte, SIM_WRITES, self, race) ||
        (access != SIM_COMBINES && met(shadow, byte, SIM_COMBINES, self, race)) ||
        (access != SIM_READS && met(shadow, byte, SIM_READS, self, race)))
        return true;
    if (access == SIM_WRITES)
        note_write(shadow, byte, self);
    else
        note(shadow, byte, access, self);
    return false;
}

// Whether all bytes of a range have the same history.
static bool is_uniform(const sim_shadow *shadow, uint64_t first, uint64_t nbytes)
{
    for (int kind = 0; kind < 3; kind++) {
        const sim_touch *last = shadow->last[kind] + first;
        const uint32_t *others = shadow->others[kind] + first;
        if (shadow->has[kind] && memcmp(last, last + 1, (nbytes - 1) * sizeof *last))
            return false;
        if (shadow->has_others[kind] && memcmp(others, others + 1, (nbytes - 1) * sizeof *others))
            return false;
    }
    return true;
}

// Give the history of the first byte to the whole range. An access changes the history of one kind; a write
// changes all.
static void spread(sim_shadow *shadow, uint64_t first, uint64_t nbytes, sim_access access)
{
    for (int kind = 0; kind < 3; kind++) {
        if (kind != (int)access && access != SIM_WRITES)
            continue;
        sim_touch *last = shadow->last[kind] + first;
        uint32_t *others = shadow->others[kind] + first;
        for (uint64_t i = 1; i < nbytes && (kind == (int)access || shadow->has[kind]); i++)
            last[i] = last[0];
        for (uint64_t i = 1; i < nbytes && shadow->has_others[kind]; i++)
            others[i] = others[0];
    }
}

#define CHUNK 16 // bytes, the most of an instruction

bool sim_shadow_touch(sim_shadow *shadow, uint64_t address, uint64_t nbytes, sim_access access,
                      const sim_agent *self, sim_race *race)
{
    uint64_t first = address - shadow->address;
    uint64_t end = first + nbytes < shadow->nbytes ? first + nbytes : shadow->nbytes;
    while (first < end) {
        uint64_t count = end - first < CHUNK ? end - first : CHUNK;
        if (count > 1 && !is_uniform(shadow, first, count))
            count = 1;
        if (touch_byte(shadow, first, access, self, race))
            return true;
        if (count > 1)
            spread(shadow, first, count, access);
        first += count;
    }
    shadow->has[access] = true;
    return false;
}
