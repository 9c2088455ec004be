// SPDX-License-Identifier: Apache-2.0
// Who touched each byte of a memory since those that share it were last in step: finds accesses whose
// order nothing settles, in whatever order they run here.
//
// A team is what has barriers, such as a block of threads; teams of a launch run in any order. A group
// is what can be in step without a barrier, such as the lanes of a warp.
#ifndef SIM_SHADOW_H
#define SIM_SHADOW_H

#include <stdbool.h>
#include <stdint.h>

// The agent that runs.
typedef struct {
    uint32_t team_phase; // the phase in which its team began
    uint32_t phase;      // one higher after each barrier of any team; 1 or more
    uint16_t agent;      // its number in the team, below SIM_SEVERAL
    uint16_t group;      // agents of each group, whose numbers follow one another
    uint16_t step;       // of its group, one higher each time that it was in step
} sim_agent;

#define SIM_SEVERAL UINT16_MAX // several agents have read

// An access to a byte; none where the phase is 0.
typedef struct {
    uint32_t phase;
    uint16_t agent, step;
} sim_touch;

typedef struct {
    uint64_t address, nbytes;
    sim_touch *writes, *reads; // of each byte; pages that nobody touched take no memory
} sim_shadow;

// What an access met: the other one, and whether that was of another team.
typedef struct {
    uint64_t address;
    sim_touch other;
    bool other_team, other_writes;
} sim_race;

// Gives the simulator up where there is no address space for it.
void sim_shadow_open(sim_shadow *shadow, uint64_t address, uint64_t nbytes);
// Nobody has touched anything: a launch begins.
void sim_shadow_forget(sim_shadow *shadow);
// Note an access to bytes of the memory. True if nothing settles its order to an earlier one.
bool sim_shadow_touch(sim_shadow *shadow, uint64_t address, uint64_t nbytes, bool writes,
                      const sim_agent *self, sim_race *race);

#endif
