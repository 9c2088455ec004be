// SPDX-License-Identifier: Apache-2.0
// Command queues for a device that copies synchronously and runs one kernel after another.
//
// The commands of all queues form one sequence, and start in issue order. Kernels are started
// asynchronously, one after another; other commands first wait until the started kernels are done.
// Therefore execution is deterministic. Only parallel commands do not wait for kernels: they
// overtake commands of other queues that do. A thread that waits for a command runs the commands
// before it. While no thread waits, two threads of the engine do that work; one of them finishes
// kernels, so that other commands can start meanwhile.
#ifndef XTC_ENGINE_H
#define XTC_ENGINE_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "xtc_driver.h"
#include "xtc_error.h"

typedef enum {
    XTC_COPY_TO,
    XTC_COPY_FROM,
    XTC_COPY_WITHIN,
    XTC_FILL,
    XTC_LAUNCH_KERNEL,
    XTC_CALL,     // a callback
    XTC_INTERNAL, // a device-specific function
    XTC_AFTER,
    XTC_NOTHING, // an `after` whose event is done already
    XTC_MARK,    // an event, not a command of the queue
} xtc_kind;

typedef struct xtc_stream xtc_stream; // a queue

typedef struct xtc_command {
    xtc_kind kind;
    bool parallel;
    bool done;
    xtc_stream *stream;
    xtc_event event;
    uint64_t number; // of the command in its queue, from 0
    uint64_t order;  // the same, including marks
    uint64_t destination, source, nbytes;
    uint32_t byte;
    xtc_function function;
    xtc_launch launch; // its arguments, their types and its label follow the command
    int32_t (*callback)(void *);
    void *data;
    const xtc_driver *other_driver;
    xtc_device *other_device;
    xtc_queue other_queue;
    xtc_event other_event;
    struct xtc_command *next;
    uint64_t arguments[];
} xtc_command;

// The functions of a device; each returns a status and sets this thread's message.
typedef struct {
    int32_t (*run)(xtc_device *device, const xtc_command *command); // copies and fills
    int32_t (*start)(xtc_device *device, const xtc_command *command);
    int32_t (*finish)(xtc_device *device); // wait for the oldest started kernel
    uint32_t max_started;                  // limit of kernels started and not finished
    uint32_t max_arguments;
    bool has_grid; // whether launches may have a grid
    bool has_clusters; // and clusters
} xtc_engine_ops;

typedef struct {
    xtc_command *first, *last;
} xtc_list;

typedef struct {
    const xtc_engine_ops *ops;
    pid_t owner; // the process that opened the device
    pthread_mutex_t lock;
    pthread_cond_t changed, work, kernel;
    xtc_list waiting, started; // in issue order
    xtc_stream *streams;       // the open queues
    xtc_event last_event;
    xtc_queue last_queue;
    uint32_t parallel; // number of parallel commands among those waiting
    uint32_t kernels;  // number of kernels started and not finished
    uint32_t waiters, finishers; // threads that wait; those that wait for kernels can finish them
    bool running, finishing; // whether a thread runs a command, or finishes a kernel
    pthread_t runner;        // the thread, if `running`
    _Atomic bool closed;
    bool has_threads, stopping;
    pthread_t starter, finisher; // do the work while no thread waits
} xtc_engine;

// A device begins with its engine, so that its table can use the functions below.
xtc_engine *xtc_engine_of(xtc_device *device);

void xtc_engine_open(xtc_engine *engine, const xtc_engine_ops *ops);
// Drop the commands that have not started, and wait for the others and for waiting threads.
// Callbacks must not call it. The device must make its kernels end.
void xtc_engine_close(xtc_device *device);
// Free the memory of a closed engine, which no other thread may use.
void xtc_engine_release(xtc_engine *engine);
// XTC_LOST if the engine is closed or another process opened the device.
int32_t xtc_engine_check(const xtc_engine *engine);
// Whether the caller is a callback of this device.
bool xtc_engine_runs_here(xtc_engine *engine);
// Make `queue` fail for the cause in this thread's message; returns `status`.
int32_t xtc_engine_stop(xtc_device *device, xtc_queue queue, int32_t status);

// Call a function when all commands issued so far are done, and return its status.
int32_t xtc_engine_call(xtc_device *device, int32_t (*function)(void *), void *data);

// Functions of a driver table.
int32_t xtc_engine_queue_open(xtc_device *, xtc_queue *);
int32_t xtc_engine_queue_close(xtc_device *, xtc_queue);
int32_t xtc_engine_copy_to(xtc_device *, xtc_queue, xtc_address, const void *, uint64_t, uint32_t,
                           xtc_event *);
int32_t xtc_engine_copy_from(xtc_device *, xtc_queue, void *, xtc_address, uint64_t, uint32_t,
                             xtc_event *);
int32_t xtc_engine_copy_within(xtc_device *, xtc_queue, xtc_address, xtc_address, uint64_t,
                               uint32_t, xtc_event *);
int32_t xtc_engine_fill(xtc_device *, xtc_queue, xtc_address, uint32_t, uint64_t, xtc_event *);
int32_t xtc_engine_launch(xtc_device *, xtc_queue, xtc_function, const xtc_launch *, xtc_event *);
int32_t xtc_engine_callback(xtc_device *, xtc_queue, int32_t (*)(void *), void *, uint32_t,
                            xtc_event *);
int32_t xtc_engine_after(xtc_device *, xtc_queue, const xtc_driver *, xtc_device *, xtc_queue,
                         xtc_event, xtc_event *);
int32_t xtc_engine_event(xtc_device *, xtc_queue, xtc_event *);
int32_t xtc_engine_done(xtc_device *, xtc_queue, xtc_event);
int32_t xtc_engine_wait(xtc_device *, xtc_queue, xtc_event);

#endif
