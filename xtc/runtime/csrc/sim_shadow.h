// SPDX-License-Identifier: Apache-2.0
// Who touched each byte of a memory last: finds accesses whose order nothing settles, in whatever order
// they run here (Flanagan, Freund, "FastTrack: Efficient and Precise Dynamic Race Detection", 2009).
//
// A team is what has barriers, such as a block of threads; what orders teams of a launch, the caller
// knows. A group is what can be in step without a barrier, such as the lanes of a warp.
#ifndef SIM_SHADOW_H
#define SIM_SHADOW_H

#include <stdbool.h>
#include <stdint.h>

// An access to a byte; none where the team is 0. A team's epochs begin at 1.
typedef struct {
    uint32_t team, epoch;
    uint16_t agent, step;
} sim_touch;

// The agent that runs.
typedef struct {
    uint32_t team, epoch;
    uint32_t barrier; // the epoch in which the team's last barrier opened
    uint16_t agent;   // its number in the team, below SIM_SEVERAL_OF_GROUP
    uint16_t group;   // agents of each group, whose numbers follow one another
    uint16_t step;    // of its group, one higher each time that it was in step
    bool (*sees)(const sim_touch *other); // whether it comes after an access of another team
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
    // The last access of each kind to each byte; untouched pages take no memory.
    sim_touch *last[3];
    uint32_t *others[3]; // earlier ones, of other teams, that the last one does not come after
    bool has[3], has_others[3]; // any
    bool teams_are_apart; // nothing orders them: one access of another team stands for all
} sim_shadow;

// What an access met: the other one, and its kind.
typedef struct {
    uint64_t address;
    sim_touch other;
    sim_access kind;
} sim_race;

// The simulator fails if there is no address space for it.
void sim_shadow_open(sim_shadow *shadow, uint64_t address, uint64_t nbytes);
// Forget all accesses: a launch begins.
void sim_shadow_forget(sim_shadow *shadow);
// Note an access to bytes of the memory. True if nothing settles its order to an earlier one.
bool sim_shadow_touch(sim_shadow *shadow, uint64_t address, uint64_t nbytes, sim_access access,
                      const sim_agent *self, sim_race *race);

#endif
