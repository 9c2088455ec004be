// SPDX-License-Identifier: Apache-2.0
// The interface through which compiled host code issues commands to devices. The loader writes the
// address of a `struct xtc_program` into the code's variable `xtc.program`, and the code calls the
// functions there with words of 64 bits. Devices, kernels and constants on devices have numbers,
// which the artifact's manifest lists. The functions return no status: a failed queue runs no more
// commands, and the loader waits for all queues after the entry point.
#ifndef XTC_PROGRAM_H
#define XTC_PROGRAM_H

#include "xtc_driver.h"

typedef struct xtc_program xtc_program;
typedef uint64_t word;

typedef struct {
    const xtc_driver *driver;
    xtc_device *device;
    xtc_queue queue;
} xtc_program_device;

typedef struct {
    uint64_t device;
    xtc_function function;
    uint64_t count;       // number of arguments
    const uint8_t *types; // their types, enum xtc_type
    const char *label;    // the graph's operator, or NULL
} xtc_program_kernel;

struct xtc_program {
    word (*allocate)(const xtc_program *, word device, word nbytes);
    void (*free)(const xtc_program *, word device, word address);
    word (*resident)(const xtc_program *, word number);
    void (*copy_to)(const xtc_program *, word device, word address, word host, word nbytes,
                    word flags);
    void (*copy_from)(const xtc_program *, word device, word host, word address, word nbytes,
                      word flags);
    void (*copy_within)(const xtc_program *, word device, word to, word from, word nbytes,
                        word flags);
    // `arguments` is the address of the kernel's arguments; a grid of 0, 0, 0 is the image's grid.
    void (*launch)(const xtc_program *, word kernel, word arguments, word x, word y, word z);
    void (*after)(const xtc_program *, word device, word other);
    void (*wait)(const xtc_program *, word device);
    // The entry point returns early: wait for all devices, and free its allocations there.
    void (*abandon)(const xtc_program *);
    // See alloc_sharded() of xtc_driver.h.
    word (*allocate_sharded)(const xtc_program *, word device, word nbytes, word shard_bytes);
    word device_count;
    xtc_program_device *devices;
    xtc_program_kernel *kernels;
    xtc_address *residents;
};

// Set the functions.
__attribute__((visibility("default"))) void xtc_program_init(xtc_program *program);

#endif
