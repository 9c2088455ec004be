// SPDX-License-Identifier: Apache-2.0
// The table of functions through which the runtime and generated host code control a device.
//
// A simulator and hardware have separate tables, so one host program runs on both. Each function
// returns a status, enum xtc_status. After a failure, message() returns this thread's message: the
// cause in the first line, and a note in each further line.
#ifndef XTC_DRIVER_H
#define XTC_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#define XTC_DRIVER_VERSION 3
#define XTC_MESSAGE_BYTES 1024

enum xtc_status {
    XTC_OK = 0,
    XTC_PENDING = 1,   // the command of done() is not done
    XTC_NOT_FOUND = 2, // the device cannot be opened
    XTC_MEMORY = 3,    // out of device memory, or an access outside an allocation
    XTC_FAULT = 4,     // a kernel broke a rule of the machine
    XTC_TIMEOUT = 5,   // a kernel exceeded its time limit
    XTC_LOST = 6,      // the device has stopped or is closed
    XTC_LAUNCH = 7,    // a kernel could not be started
    XTC_IMAGE = 8,     // the image is not device code
    XTC_USAGE = 9,     // an error of the caller
    XTC_CALLBACK = 10, // a callback failed
};

enum xtc_flags {
    XTC_PARALLEL = 1, // the command may run in parallel with a kernel started before it
};

typedef struct xtc_device xtc_device; // an open device
typedef uint64_t xtc_address;         // in device memory, as kernels see it
typedef uint64_t xtc_queue;
typedef uint64_t xtc_event;
typedef uint64_t xtc_module;
typedef uint64_t xtc_function;

// The types of kernel arguments.
enum xtc_type {
    XTC_ADDRESS = 0, // in device memory, 64 bits
    XTC_INT32 = 1,
    XTC_INT64 = 2,
    XTC_FLOAT32 = 3,
    XTC_FLOAT64 = 4,
    XTC_TYPE_COUNT,
};

// A kernel launch. The grid is the number of blocks in x, y and z; {0, 0, 0} selects the grid that
// the image defines for the kernel, the only grid that a device without grids accepts. The blocks
// of a cluster run concurrently; {0, 0, 0} likewise selects the image's cluster.
typedef struct xtc_launch {
    uint32_t grid[3];
    uint32_t count;            // number of arguments
    const uint64_t *arguments; // each zero-extended to 64 bits
    const uint8_t *types;      // of each argument, enum xtc_type
    uint32_t cluster[3];       // blocks in x, y and z, divisors of the grid's
    const char *label;         // of what the kernel computes, for messages; may be NULL
} xtc_launch;

typedef struct xtc_driver xtc_driver;

// A native stream: 0 is the device's; other numbers are handles that the machine's library, or
// another library of the process, has created. CUDA's are numbered as in DLPack: 1 is the legacy
// default stream, 2 the per-thread default stream.
typedef uint64_t xtc_native_stream;
typedef uint64_t xtc_mark; // a point in a stream, with its time

// Launches ordered with the work of other libraries on a stream, and times that the device
// measures. All functions except elapsed() and settle() are ordered after the commands issued so
// far and do not wait for other work. A later call reports the fault of a kernel on a stream.
typedef struct xtc_streams {
    uint32_t nbytes; // size of this table
    int32_t (*launch)(xtc_device *device, xtc_native_stream stream, xtc_function function,
                      const xtc_launch *launch);
    int32_t (*fill)(xtc_device *device, xtc_native_stream stream, xtc_address address,
                    uint32_t byte, uint64_t nbytes);
    int32_t (*copy)(xtc_device *device, xtc_native_stream stream, xtc_address destination,
                    xtc_address source, uint64_t nbytes);
    // Later work of `stream` starts after the work that `other` has so far.
    int32_t (*after)(xtc_device *device, xtc_native_stream stream, xtc_native_stream other);
    int32_t (*mark)(xtc_device *device, xtc_native_stream stream, xtc_mark *mark);
    int32_t (*unmark)(xtc_device *device, xtc_mark mark);
    // Wait for the second mark; returns the time between both by the device's clock.
    int32_t (*elapsed)(xtc_device *device, xtc_mark first, xtc_mark second, double *seconds);
    // Wait for the work of other libraries on the device.
    int32_t (*settle)(xtc_device *device);
} xtc_streams;

// Commands of a queue start in issue order, and each returns the event of its completion unless
// `event` is NULL. Errors are sticky: after a failed command the queue runs no more commands, and
// wait() reports the failure, so a sequence of commands needs a single check at its end. XTC_NOW
// instead of a queue runs a command after all earlier ones and waits for it.
#define XTC_NOW ((xtc_queue)0)

struct xtc_driver {
    uint32_t version; // XTC_DRIVER_VERSION
    uint32_t nbytes;  // size of this table; later versions append members

    const char *(*message)(void);
    // Set this thread's message() and return `status`, for callbacks that fail.
    int32_t (*fail)(int32_t status, const char *text);

    // Open a device; `config` points to a target-specific structure.
    int32_t (*open)(const void *config, xtc_device **device);
    // Close the device and release its memory, modules and queues: later calls return XTC_LOST.
    int32_t (*close)(xtc_device *device);
    // Free a closed device; no call may follow.
    void (*release)(xtc_device *device);

    // Memory. A failed alloc() stops `queue`, unless that is XTC_NOW; neither waits for commands.
    int32_t (*alloc)(xtc_device *device, xtc_queue queue, uint64_t nbytes, xtc_address *address);
    int32_t (*free)(xtc_device *device, xtc_address address);
    // The allocation that contains `address`.
    int32_t (*span)(xtc_device *device, xtc_address address, xtc_address *start, uint64_t *nbytes);
    int32_t (*memory)(xtc_device *device, uint64_t *used, uint64_t *size);

    // Device code.
    int32_t (*load)(xtc_device *device, const void *image, uint64_t nbytes, xtc_module *module);
    int32_t (*unload)(xtc_device *device, xtc_module module);
    int32_t (*symbol)(xtc_device *device, xtc_module module, const char *name,
                      xtc_function *function);

    // Queues. Closing a queue drops the commands that have not started.
    int32_t (*queue_open)(xtc_device *device, xtc_queue *queue);
    int32_t (*queue_close)(xtc_device *device, xtc_queue queue);

    // Commands. Host memory must remain valid and unchanged until the command is done.
    int32_t (*copy_to)(xtc_device *device, xtc_queue queue, xtc_address destination,
                       const void *source, uint64_t nbytes, uint32_t flags, xtc_event *event);
    int32_t (*copy_from)(xtc_device *device, xtc_queue queue, void *destination,
                         xtc_address source, uint64_t nbytes, uint32_t flags, xtc_event *event);
    int32_t (*copy_within)(xtc_device *device, xtc_queue queue, xtc_address destination,
                           xtc_address source, uint64_t nbytes, uint32_t flags, xtc_event *event);
    int32_t (*fill)(xtc_device *device, xtc_queue queue, xtc_address address, uint32_t byte,
                    uint64_t nbytes, xtc_event *event);
    // `launch`, its arrays and its label are copied. The message of a failure quotes the label.
    int32_t (*launch)(xtc_device *device, xtc_queue queue, xtc_function function,
                      const xtc_launch *launch, xtc_event *event);
    // Call a host function; a status other than XTC_OK stops the queue. It may use the device, but
    // must not wait for later commands or close the device.
    int32_t (*callback)(xtc_device *device, xtc_queue queue, int32_t (*function)(void *),
                        void *data, uint32_t flags, xtc_event *event);
    // Start later commands only after an event of another queue, of this or another device.
    int32_t (*after)(xtc_device *device, xtc_queue queue, const xtc_driver *other_driver,
                     xtc_device *other_device, xtc_queue other_queue, xtc_event other_event,
                     xtc_event *event);
    // The completion of all commands issued so far.
    int32_t (*event)(xtc_device *device, xtc_queue queue, xtc_event *event);
    // Returns XTC_OK, XTC_PENDING or the status of the queue's failure; does not block.
    int32_t (*done)(xtc_device *device, xtc_queue queue, xtc_event event);
    // Block until `event` is done, or all commands issued so far if it is 0.
    int32_t (*wait)(xtc_device *device, xtc_queue queue, xtc_event event);

    // The number of counters, their names, which are valid while the device is open, and values.
    int32_t (*counters)(xtc_device *device, uint32_t *count, const char *const **names,
                        uint64_t *values);

    // Named data of an image: an address for copies, valid while the module is loaded, and a size.
    // Such copies are not parallel.
    int32_t (*data)(xtc_device *device, xtc_module module, const char *name, xtc_address *address,
                    uint64_t *nbytes);

    // The memories of the device. Each allocation is in all of them, at the same offset. An
    // allocation of alloc() is replicated: it has the same bytes in each memory. An allocation of
    // alloc_sharded() is in shards of `shard_bytes`, the first in the first memory; the last shards
    // may be padded or empty. Copies have `nbytes` bytes in both cases, and a kernel finds its
    // memory's shard at the address.
    int32_t (*memories)(xtc_device *device, uint32_t *count);
    int32_t (*alloc_sharded)(xtc_device *device, xtc_queue queue, uint64_t nbytes,
                             uint64_t shard_bytes, xtc_address *address);

    // The native streams of the machine; NULL if it has none, like a simulator. The member itself
    // may be NULL.
    const xtc_streams *(*streams)(void);
};

// A driver library exports only this function.
__attribute__((visibility("default"))) const xtc_driver *xtc_driver_table(void);

#endif
