// SPDX-License-Identifier: Apache-2.0
// The memory that a host process shares with a simulated device, which is a separate process.
//
// It is one anonymous file, passed on as a descriptor, so it is gone with its last user. In it stand
// the channel, a block of the target's own, the map of allocations, room for an image, what launches
// print, and the device's memory.
#ifndef SIM_CHANNEL_H
#define SIM_CHANNEL_H

#include <stdatomic.h>
#include <stdint.h>

#include "xtc_report.h"

#define SIM_MAGIC 0x4d495358u
#define SIM_DESCRIPTOR 3 // of the shared file in the device process
#define SIM_RING 64
#define SIM_ARGUMENTS 64
#define SIM_TEXT 512
#define SIM_GRANULE 64 // bytes of device memory that one byte of the map stands for

enum sim_operation {
    SIM_LOAD,     // arguments: bytes of the image that stands in its room; result: module
    SIM_UNLOAD,   // module
    SIM_FUNCTION, // module; text: name; result: function
    SIM_DATA,     // module; text: name; result: address; arguments: bytes
    SIM_WRITE,    // address and bytes of data of an image, which stand in the image's room
    SIM_READ,     // the other way
    SIM_LAUNCH,   // function, then the kernel's arguments
};

enum sim_state {
    SIM_STARTING,
    SIM_READY,
    SIM_FAILED, // `failure` says why; the process is ending
};

typedef struct {
    uint32_t operation;
    int32_t status; // of enum xtc_status
    uint32_t count, grid[3], cluster[3]; // of a launch: its arguments, and blocks
    uint64_t arguments[SIM_ARGUMENTS + 1];
    uint8_t types[SIM_ARGUMENTS]; // of the launch's arguments
    uint64_t result;
    char text[SIM_TEXT]; // in: a name; out: why the status is not XTC_OK
} sim_request;

typedef struct {
    uint64_t offset, nbytes;
} sim_room;

// Why a process ended.
typedef struct {
    _Atomic int32_t status; // of enum xtc_status, written last
    char text[2 * SIM_TEXT];
    char report[XTC_REPORT_PATH]; // the file with the whole of it, or ""
} sim_failure;

typedef struct {
    uint32_t magic;
    uint32_t nbytes; // of this structure
    int32_t host;    // process id
    double timeout_s; // for one kernel
    uint64_t memory_address; // of device memory in the device process
    sim_room block, map, image, output, memory; // an output for each request of the ring

    // Counts of requests posted and finished, and the state: futexes. They wrap around.
    _Atomic uint32_t posted, finished, state;
    sim_failure failure;
    sim_request ring[SIM_RING];
} sim_channel;

#endif
