// SPDX-License-Identifier: Apache-2.0
// The functions of program.h, implemented with the driver tables of the devices.
#include "program.h"

#include <stdlib.h>

// An allocation of a thread's call of a program that was not freed yet.
typedef struct held {
    struct held *next;
    const xtc_program *program;
    word device, address;
} held;

static _Thread_local held *allocated;

static int32_t alloc(const xtc_program_device *on, word nbytes, word shard_bytes,
                     xtc_address *address)
{
    if (!shard_bytes)
        return on->driver->alloc(on->device, on->queue, nbytes ? nbytes : 1, address);
    return on->driver->alloc_sharded(on->device, on->queue, nbytes, shard_bytes, address);
}

static word allocate_sharded(const xtc_program *program, word device, word nbytes,
                             word shard_bytes)
{
    xtc_address address = 0;
    held *added = malloc(sizeof *added);
    if (!added || alloc(&program->devices[device], nbytes, shard_bytes, &address)) {
        free(added);
        return 0; // commands on it fail; without host memory the entry point fails as well
    }
    *added = (held){allocated, program, device, address};
    allocated = added;
    return address;
}

static word allocate(const xtc_program *program, word device, word nbytes)
{
    return allocate_sharded(program, device, nbytes, 0);
}

static void release(held **at)
{
    held *freed = *at;
    const xtc_program_device *on = &freed->program->devices[freed->device];
    on->driver->free(on->device, freed->address);
    *at = freed->next;
    free(freed);
}

static void free_memory(const xtc_program *program, word device, word address)
{
    for (held **at = &allocated; *at; at = &(*at)->next)
        if ((*at)->program == program && (*at)->device == device && (*at)->address == address) {
            release(at);
            return;
        }
}

static word resident(const xtc_program *program, word number)
{
    return program->residents[number];
}

static void copy_to(const xtc_program *program, word device, word address, word host, word nbytes,
                    word flags)
{
    const xtc_program_device *on = &program->devices[device];
    on->driver->copy_to(on->device, on->queue, address, (const void *)host, nbytes,
                        (uint32_t)flags, NULL);
}

static void copy_from(const xtc_program *program, word device, word host, word address, word nbytes,
                      word flags)
{
    const xtc_program_device *on = &program->devices[device];
    on->driver->copy_from(on->device, on->queue, (void *)host, address, nbytes, (uint32_t)flags,
                          NULL);
}

static void copy_within(const xtc_program *program, word device, word to, word from, word nbytes,
                        word flags)
{
    const xtc_program_device *on = &program->devices[device];
    on->driver->copy_within(on->device, on->queue, to, from, nbytes, (uint32_t)flags, NULL);
}

static void launch(const xtc_program *program, word kernel, word arguments, word x, word y,
                   word z)
{
    const xtc_program_kernel *which = &program->kernels[kernel];
    const xtc_program_device *on = &program->devices[which->device];
    xtc_launch given = {{(uint32_t)x, (uint32_t)y, (uint32_t)z},
                        (uint32_t)which->count,
                        (const uint64_t *)arguments,
                        which->types,
                        {0, 0, 0},
                        which->label};
    on->driver->launch(on->device, on->queue, which->function, &given, NULL);
}

static void after(const xtc_program *program, word device, word other)
{
    const xtc_program_device *on = &program->devices[device], *from = &program->devices[other];
    xtc_event reached;
    if (from->driver->event(from->device, from->queue, &reached) == XTC_OK)
        on->driver->after(on->device, on->queue, from->driver, from->device, from->queue, reached,
                          NULL);
}

static void wait_for(const xtc_program *program, word device)
{
    const xtc_program_device *on = &program->devices[device];
    on->driver->wait(on->device, on->queue, 0);
}

static void abandon(const xtc_program *program)
{
    for (word device = 0; device < program->device_count; device++)
        wait_for(program, device);
    for (held **at = &allocated; *at;)
        if ((*at)->program == program)
            release(at);
        else
            at = &(*at)->next;
}

void xtc_program_init(xtc_program *program)
{
    program->allocate = allocate;
    program->free = free_memory;
    program->resident = resident;
    program->copy_to = copy_to;
    program->copy_from = copy_from;
    program->copy_within = copy_within;
    program->launch = launch;
    program->after = after;
    program->wait = wait_for;
    program->abandon = abandon;
    program->allocate_sharded = allocate_sharded;
}
