// SPDX-License-Identifier: Apache-2.0
// The memory that a host process shares with the process of a simulated device.
//
// It is an anonymous file, passed as a descriptor and freed with its last user. It contains the
// channel, a target-specific block, the map of allocations, space for an image, the output of
// launches, and the device's memory.
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
#define SIM_GRANULE 64 // bytes of device memory per byte of the map

enum sim_operation {
    SIM_LOAD,     // arguments: size of the image in the image space; result: module
    SIM_UNLOAD,   // module
    SIM_FUNCTION, // module; text: name; result: function
    SIM_DATA,     // module; text: name; result: address; arguments: size
    SIM_WRITE,    // address and size of an image's data; the bytes are in the image space
    SIM_READ,     // likewise, in the other direction
    SIM_LAUNCH,   // function, then the kernel's arguments
};

enum sim_state {
    SIM_STARTING,
    SIM_READY,
    SIM_FAILED, // with the cause in `failure`; the process is ending
};

typedef struct {
    uint32_t operation;
    int32_t status; // of enum xtc_status
    uint32_t count, grid[3], cluster[3]; // of a launch: number of arguments, blocks
    uint64_t arguments[SIM_ARGUMENTS + 1];
    uint8_t types[SIM_ARGUMENTS]; // of the launch's arguments
    uint64_t result;
    char text[SIM_TEXT]; // in: a name; out: the cause if the status is not XTC_OK
} sim_request;

typedef struct {
    uint64_t offset, nbytes;
} sim_region;

// The cause of a process's end.
typedef struct {
    _Atomic int32_t status; // of enum xtc_status, written last
    char text[2 * SIM_TEXT];
    char report[XTC_REPORT_PATH]; // the file with the full report, or ""
} sim_failure;

typedef struct {
    uint32_t magic;
    uint32_t nbytes; // size of this structure
    int32_t host;    // process id
    double timeout_s; // of each kernel
    uint64_t memory_address; // of device memory in the device process
    sim_region block, map, image, output, memory; // with an output for each request of the ring

    // The numbers of posted and finished requests, which wrap around, and the state: futexes.
    _Atomic uint32_t posted, finished, state;
    sim_failure failure;
    sim_request ring[SIM_RING];
} sim_channel;

#endif
