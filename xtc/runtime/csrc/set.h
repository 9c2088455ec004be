// SPDX-License-Identifier: Apache-2.0
// A device that consists of member devices, each with a separate engine: a rank copies while
// another computes. A set has a driver table like other devices. A command fans out to the members'
// queues; a command that runs once, such as a callback, joins them. Devices of any driver can be
// members, including sets.
//
// Commands whose copies access the same host memory run in queue order: the members are joined
// between them.
//
// The set has a separate address space. An allocation is in all memories of all members, replicated
// or sharded (xtc_driver.h); address arguments of kernels are translated for each member. A command
// that cannot be issued stops the queue. After a command fails on a member, that member runs no
// more commands of the queue, and the others finish the commands issued to them.
#ifndef SET_H
#define SET_H

#include <pthread.h>
#include <stdbool.h>

#include "xtc_driver.h"
#include "xtc_error.h"

#define SET_MEMBERS 64

typedef struct {
    uint64_t nbytes; // size of this structure
    uint32_t count;  // number of members
    const xtc_driver *driver;   // the members' driver
    const void *const *configs; // the configuration of each member
} set_config;

typedef struct {
    const xtc_driver *driver;
    xtc_device *device;
    uint32_t memories, first_memory; // the member's memories; the number of those before them
} set_member;

// A number for each member: addresses, modules, functions, queues or events.
typedef struct {
    uint64_t of[SET_MEMBERS];
} set_numbers;

typedef struct set_allocation {
    xtc_address address; // in the set's address space
    uint64_t nbytes;
    uint64_t shard_bytes; // 0: replicated
    bool is_data;         // whether it is data of an image
    set_numbers addresses;
    struct set_allocation *next;
} set_allocation;

// A module, or a function of one.
typedef struct set_symbol {
    uint64_t number; // in the set
    set_numbers numbers;
    struct set_symbol *next;
} set_symbol;

typedef struct set_event {
    xtc_event number; // in the set
    set_numbers events;
    struct set_event *next;
} set_event;

// Host memory of a copy that a member may not have started.
typedef struct {
    uint64_t begin, end;
    bool is_written;
} set_host_span;

#define SET_HOST_SPANS 16

typedef struct set_queue {
    xtc_queue number; // in the set
    set_numbers queues;
    set_event *first, *last; // events of commands that may not be done
    xtc_event finished;      // all events up to this one are done
    set_host_span spans[SET_HOST_SPANS]; // of copies since the members were joined
    uint32_t span_count;
    xtc_event stopped;       // commands after it are dropped, for this failure; 0: none are
    int32_t status;
    char message[XTC_MESSAGE_BYTES];
    struct set_queue *next;
} set_queue;

struct xtc_device {
    uint32_t count, memories;
    set_member members[SET_MEMBERS];
    pthread_mutex_t lock; // guards the members below; never held while a member device works
    _Atomic bool closed;
    uint64_t last_number;
    xtc_address next_address;
    set_allocation *allocations;
    set_symbol *modules, *functions;
    set_queue *queues;
    const char **counter_names;
    uint32_t counter_count;
};

// set_device.c
int32_t set_check(const xtc_device *set);
// Set this thread's message to the cause of a member's failure; returns `status`.
int32_t set_failed(const set_member *member, uint32_t number, int32_t status);

// set_memory.c: copy the record of the allocation that contains these bytes.
int32_t set_find(xtc_device *set, xtc_address address, uint64_t nbytes, set_allocation *found);
// A member's part of the bytes from `offset` on: its address there, and its offset in the bytes.
typedef struct {
    xtc_address address;
    uint64_t skipped, nbytes;
} set_part;
set_part set_part_of(const xtc_device *set, uint32_t member, const set_allocation *allocation,
                     uint64_t offset, uint64_t nbytes);
int32_t set_alloc(xtc_device *, xtc_queue, uint64_t nbytes, xtc_address *);
int32_t set_alloc_sharded(xtc_device *, xtc_queue, uint64_t nbytes, uint64_t shard_bytes,
                          xtc_address *);
int32_t set_free(xtc_device *, xtc_address);
int32_t set_span(xtc_device *, xtc_address, xtc_address *, uint64_t *);
int32_t set_memory(xtc_device *, uint64_t *used, uint64_t *size);
int32_t set_memories(xtc_device *, uint32_t *count);
// Assign an address to replicated data of an image.
int32_t set_add_data(xtc_device *set, const set_numbers *addresses, uint64_t nbytes,
                     xtc_address *address);

// set_image.c
int32_t set_load(xtc_device *, const void *, uint64_t, xtc_module *);
int32_t set_unload(xtc_device *, xtc_module);
int32_t set_function(xtc_device *, xtc_module, const char *, xtc_function *);
int32_t set_data(xtc_device *, xtc_module, const char *, xtc_address *, uint64_t *);
int32_t set_find_function(xtc_device *set, xtc_function function, set_numbers *found);
void set_forget_symbols(xtc_device *set);

// set_queue.c
int32_t set_queue_open(xtc_device *, xtc_queue *);
int32_t set_queue_close(xtc_device *, xtc_queue);
int32_t set_find_queue(xtc_device *set, xtc_queue queue, set_numbers *found, bool *stopped);
// Drop later commands of the queue, for the cause in this thread's message; returns `status`.
int32_t set_stop(xtc_device *set, xtc_queue queue, int32_t status);
// Record the host memory of a copy. Returns whether the members must be joined first, as an earlier
// command of a member may still access these bytes.
bool set_uses_host(xtc_device *set, xtc_queue queue, const void *host, uint64_t nbytes,
                   bool is_written);
// Record that the members were joined.
void set_joined(xtc_device *set, xtc_queue queue);
// Record the members' events of a command, 0 if a member has none.
int32_t set_note(xtc_device *set, xtc_queue queue, const set_numbers *events, xtc_event *event);
int32_t set_wait(xtc_device *, xtc_queue, xtc_event);
int32_t set_done(xtc_device *, xtc_queue, xtc_event);
void set_forget_queues(xtc_device *set);

// set_commands.c
int32_t set_copy_to(xtc_device *, xtc_queue, xtc_address, const void *, uint64_t, uint32_t,
                    xtc_event *);
int32_t set_copy_from(xtc_device *, xtc_queue, void *, xtc_address, uint64_t, uint32_t,
                      xtc_event *);
int32_t set_copy_within(xtc_device *, xtc_queue, xtc_address, xtc_address, uint64_t, uint32_t,
                        xtc_event *);
int32_t set_fill(xtc_device *, xtc_queue, xtc_address, uint32_t, uint64_t, xtc_event *);
int32_t set_launch(xtc_device *, xtc_queue, xtc_function, const xtc_launch *, xtc_event *);
int32_t set_callback(xtc_device *, xtc_queue, int32_t (*)(void *), void *, uint32_t, xtc_event *);
int32_t set_after(xtc_device *, xtc_queue, const xtc_driver *, xtc_device *, xtc_queue, xtc_event,
                  xtc_event *);
int32_t set_event_of(xtc_device *, xtc_queue, xtc_event *);

#endif
