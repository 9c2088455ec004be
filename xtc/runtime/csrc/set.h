// SPDX-License-Identifier: Apache-2.0
// A device that consists of devices, its members, each with an engine of its own: a rank copies
// while another computes. The set is a driver table like others. A command fans out to the members'
// queues; what has to happen once, such as a callback, joins them. Any driver's devices can be
// members, sets too.
//
// Members that copy the same host memory do so in the queue's order: they are joined in between.
//
// The set has addresses of its own. An allocation is in all memories of all members, replicated or in
// shards (xtc_driver.h); kernel arguments that are addresses are each member's own when it starts.
// A command that cannot be given stops the queue. After one that failed on a member, that member runs
// nothing more of the queue, and the others finish what they were given.
#ifndef SET_H
#define SET_H

#include <pthread.h>
#include <stdbool.h>

#include "xtc_driver.h"
#include "xtc_error.h"

#define SET_MEMBERS 64

typedef struct {
    uint64_t nbytes; // of this structure
    uint32_t count;  // of members
    const xtc_driver *driver;   // theirs
    const void *const *configs; // what opens each
} set_config;

typedef struct {
    const xtc_driver *driver;
    xtc_device *device;
    uint32_t memories, first_memory; // of the member; those of the members before it
} set_member;

// A number for each member: addresses, modules, functions, queues or events.
typedef struct {
    uint64_t of[SET_MEMBERS];
} set_numbers;

typedef struct set_allocation {
    xtc_address address; // the set's
    uint64_t nbytes;
    uint64_t shard_bytes; // 0: replicated
    bool is_data;         // of an image
    set_numbers addresses;
    struct set_allocation *next;
} set_allocation;

// A module, or a function of one.
typedef struct set_symbol {
    uint64_t number; // the set's
    set_numbers numbers;
    struct set_symbol *next;
} set_symbol;

typedef struct set_event {
    xtc_event number; // the set's
    set_numbers events;
    struct set_event *next;
} set_event;

// Host memory of a copy that some member may not have begun.
typedef struct {
    uint64_t begin, end;
    bool is_written;
} set_host_span;

#define SET_HOST_SPANS 16

typedef struct set_queue {
    xtc_queue number; // the set's
    set_numbers queues;
    set_event *first, *last; // of commands that may not be done
    xtc_event finished;      // all up to this one are done
    set_host_span spans[SET_HOST_SPANS]; // of copies since the members were at one point
    uint32_t span_count;
    xtc_event stopped;       // what is given after it is dropped, for this failure; 0: nothing is
    int32_t status;
    char message[XTC_MESSAGE_BYTES];
    struct set_queue *next;
} set_queue;

struct xtc_device {
    uint32_t count, memories;
    set_member members[SET_MEMBERS];
    pthread_mutex_t lock; // of what follows; never held while a member works
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
// Make the reason of a member's failure this thread's message; returns `status`.
int32_t set_failed(const set_member *member, uint32_t number, int32_t status);

// set_memory.c: a copy of what is known of the allocation with these bytes.
int32_t set_find(xtc_device *set, xtc_address address, uint64_t nbytes, set_allocation *found);
// The part of the bytes from `offset` on that a member has: where it begins there, and in the bytes.
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
// An address for data of an image, which is replicated.
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
// Drop what is given to the queue from now on, for the reason in this thread's message; returns
// `status`.
int32_t set_stop(xtc_device *set, xtc_queue queue, int32_t status);
// Note the host memory of a copy. Returns whether the members have to come to one point first: one of
// them may still have to read or write these bytes for a command before.
bool set_uses_host(xtc_device *set, xtc_queue queue, const void *host, uint64_t nbytes,
                   bool is_written);
// The members are at one point.
void set_joined(xtc_device *set, xtc_queue queue);
// Note the members' events of a command, 0 if a member has none.
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
