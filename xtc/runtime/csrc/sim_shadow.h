// SPDX-License-Identifier: Apache-2.0
// Shadow memory for race detection: the last accesses to each byte. Detects accesses that are not
// ordered by happens-before, in any order of execution (Flanagan, Freund, "FastTrack: Efficient and
// Precise Dynamic Race Detection", 2009).
//
// Agents of a team, such as a block of threads, share barriers; the caller defines the order
// between teams of a launch. Agents of a group, such as a warp, can synchronize without a barrier.
#ifndef SIM_SHADOW_H
#define SIM_SHADOW_H

#include <stdbool.h>
#include <stdint.h>

// An access to a byte; none if the team is 0. The epochs of a team begin at 1.
typedef struct {
    uint32_t team, epoch;
    uint16_t agent, step;
} sim_touch;

// The running agent.
typedef struct {
    uint32_t team, epoch;
    uint32_t barrier; // the epoch in which the team's last barrier completed
    uint16_t agent;   // its number in the team, below SIM_SEVERAL_OF_GROUP
    uint16_t group;   // the size of groups, whose agents have consecutive numbers
    uint16_t step;    // of its group, incremented at each synchronization of the group
    bool (*sees)(const sim_touch *other); // whether another team's access happens before it
} sim_agent;

#define SIM_SEVERAL UINT16_MAX // several agents of a team
// Several agents of one group, in the same step: this and the group's number.
#define SIM_SEVERAL_OF_GROUP 0x8000

static inline bool sim_is_several(uint16_t agent)
{
    return agent >= SIM_SEVERAL_OF_GROUP;
}

typedef enum { SIM_READS, SIM_WRITES, SIM_COMBINES } sim_access;

typedef struct {
    uint64_t address, nbytes;
    // The last access of each kind to each byte; untouched pages need no memory.
    sim_touch *last[3];
    uint32_t *others[3]; // earlier accesses of other teams that do not happen before the last one
    bool has[3], has_others[3]; // whether there are any
    bool teams_are_apart; // teams are not ordered: one access of another team represents all
} sim_shadow;

// A race: the other access and its kind.
typedef struct {
    uint64_t address;
    sim_touch other;
    sim_access kind;
} sim_race;

// The simulator fails if there is no address space for the shadow.
void sim_shadow_open(sim_shadow *shadow, uint64_t address, uint64_t nbytes);
// Forget all accesses, at the beginning of a launch.
void sim_shadow_forget(sim_shadow *shadow);
// Record an access to bytes of the memory. Returns whether it races with an earlier access.
bool sim_shadow_touch(sim_shadow *shadow, uint64_t address, uint64_t nbytes, sim_access access,
                      const sim_agent *self, sim_race *race);

#endif
