// SPDX-License-Identifier: Apache-2.0
// The table of functions through which the runtime and generated host code reach a device.
//
// A simulator and hardware are two tables, so one host program runs on both. Every function returns
// a status of enum xtc_status; after a failure message() gives this thread the reason, its first
// line what happened, each further line a note.
#ifndef XTC_DRIVER_H
#define XTC_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#define XTC_DRIVER_VERSION 2
#define XTC_MESSAGE_BYTES 1024

enum xtc_status {
    XTC_OK = 0,
    XTC_PENDING = 1,   // of done(): not yet
    XTC_NOT_FOUND = 2, // the device cannot be opened
    XTC_MEMORY = 3,    // out of device memory, or bytes outside an allocation
    XTC_FAULT = 4,     // a kernel broke a rule of the machine
    XTC_TIMEOUT = 5,   // a kernel ran past its limit
    XTC_LOST = 6,      // the device is gone or closed
    XTC_LAUNCH = 7,    // a kernel could not be started
    XTC_IMAGE = 8,     // the image is not device code
    XTC_USAGE = 9,     // the caller's mistake
    XTC_CALLBACK = 10, // a callback said that it failed
};

enum xtc_flags {
    XTC_PARALLEL = 1, // the command may run beside a kernel that was started before it
};

typedef struct xtc_device xtc_device; // one open device
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

// What a kernel is started with. The grid is the number of blocks in x, y and z; {0, 0, 0} stands
// for the grid that the image gives the kernel. A device without grids refuses any other one. Blocks of
// a cluster run at the same time, side by side; {0, 0, 0} likewise leaves their number to the image.
typedef struct xtc_launch {
    uint32_t grid[3];
    uint32_t count;            // of arguments
    const uint64_t *arguments; // each in the low bytes of 64 bits, the others being 0
    const uint8_t *types;      // of enum xtc_type, one for each argument
    uint32_t cluster[3];       // blocks in x, y and z, which divide those of the grid
} xtc_launch;

typedef struct xtc_driver xtc_driver;

// A stream of the machine's own library: 0 is the device's, any other number a handle that the
// library, or another one of the process, has made. For CUDA they are numbered as DLPack does: 1 is
// the legacy default stream, 2 that of each thread.
typedef uint64_t xtc_native_stream;
typedef uint64_t xtc_mark; // a point in a stream, with the time when it was reached

// Launches in order with what others gave a stream, and times that the device measures. All but
// elapsed() and settle() come after the commands given so far, and wait for nothing else. What a
// kernel on a stream does wrong is reported by a later call.
typedef struct xtc_streams {
    uint32_t nbytes; // of this table
    int32_t (*launch)(xtc_device *device, xtc_native_stream stream, xtc_function function,
                      const xtc_launch *launch);
    int32_t (*fill)(xtc_device *device, xtc_native_stream stream, xtc_address address,
                    uint32_t byte, uint64_t nbytes);
    int32_t (*copy)(xtc_device *device, xtc_native_stream stream, xtc_address destination,
                    xtc_address source, uint64_t nbytes);
    // What `stream` is given from now on starts after what `other` was given so far.
    int32_t (*after)(xtc_device *device, xtc_native_stream stream, xtc_native_stream other);
    int32_t (*mark)(xtc_device *device, xtc_native_stream stream, xtc_mark *mark);
    int32_t (*unmark)(xtc_device *device, xtc_mark mark);
    // Wait for the second mark; the time between both by the device's clock.
    int32_t (*elapsed)(xtc_device *device, xtc_mark first, xtc_mark second, double *seconds);
    // Wait for all that other libraries gave the device.
    int32_t (*settle)(xtc_device *device);
} xtc_streams;

// Commands on a queue start in the order they were given, and each returns, where `event` is not
// NULL, the event of its end. Their errors stay with the queue: after a command that failed it runs
// nothing more, and wait() reports the failure, so a sequence of commands needs one check at its
// end. XTC_NOW in place of a queue runs a command after all those before it and waits for it.
#define XTC_NOW ((xtc_queue)0)

struct xtc_driver {
    uint32_t version; // XTC_DRIVER_VERSION
    uint32_t nbytes;  // of this table; later versions add members at its end

    const char *(*message)(void);
    // Give this thread's message() a text, and return `status`: for callbacks that fail.
    int32_t (*fail)(int32_t status, const char *text);

    // Open a device; what `config` points to is the target's own.
    int32_t (*open)(const void *config, xtc_device **device);
    // Give the device back, with its memory, modules and queues: later calls return XTC_LOST.
    int32_t (*close)(xtc_device *device);
    // Free a closed device; no call may follow.
    void (*release)(xtc_device *device);

    // Memory. A failed alloc() stops `queue`, unless that is XTC_NOW; neither waits for commands.
    int32_t (*alloc)(xtc_device *device, xtc_queue queue, uint64_t nbytes, xtc_address *address);
    int32_t (*free)(xtc_device *device, xtc_address address);
    // The allocation that holds `address`.
    int32_t (*span)(xtc_device *device, xtc_address address, xtc_address *start, uint64_t *nbytes);
    int32_t (*memory)(xtc_device *device, uint64_t *used, uint64_t *size);

    // Device code.
    int32_t (*load)(xtc_device *device, const void *image, uint64_t nbytes, xtc_module *module);
    int32_t (*unload)(xtc_device *device, xtc_module module);
    int32_t (*symbol)(xtc_device *device, xtc_module module, const char *name,
                      xtc_function *function);

    // Queues. Closing one drops the commands that have not started.
    int32_t (*queue_open)(xtc_device *device, xtc_queue *queue);
    int32_t (*queue_close)(xtc_device *device, xtc_queue queue);

    // Commands. Host memory must stay as it is until the command is done.
    int32_t (*copy_to)(xtc_device *device, xtc_queue queue, xtc_address destination,
                       const void *source, uint64_t nbytes, uint32_t flags, xtc_event *event);
    int32_t (*copy_from)(xtc_device *device, xtc_queue queue, void *destination,
                         xtc_address source, uint64_t nbytes, uint32_t flags, xtc_event *event);
    int32_t (*copy_within)(xtc_device *device, xtc_queue queue, xtc_address destination,
                           xtc_address source, uint64_t nbytes, uint32_t flags, xtc_event *event);
    int32_t (*fill)(xtc_device *device, xtc_queue queue, xtc_address address, uint32_t byte,
                    uint64_t nbytes, xtc_event *event);
    // `launch` and what it points to are copied.
    int32_t (*launch)(xtc_device *device, xtc_queue queue, xtc_function function,
                      const xtc_launch *launch, xtc_event *event);
    // Call a host function; a status other than XTC_OK stops the queue. It may use the device, but
    // neither wait for what comes after it nor close the device.
    int32_t (*callback)(xtc_device *device, xtc_queue queue, int32_t (*function)(void *),
                        void *data, uint32_t flags, xtc_event *event);
    // Start later commands only after an event of another queue, which may be another device's.
    int32_t (*after)(xtc_device *device, xtc_queue queue, const xtc_driver *other_driver,
                     xtc_device *other_device, xtc_queue other_queue, xtc_event other_event,
                     xtc_event *event);
    // The point that is reached when everything given so far is done.
    int32_t (*event)(xtc_device *device, xtc_queue queue, xtc_event *event);
    // XTC_OK, XTC_PENDING, or the status of the queue's failure; does not block.
    int32_t (*done)(xtc_device *device, xtc_queue queue, xtc_event event);
    // Block until `event`, or everything given so far where it is 0, is done.
    int32_t (*wait)(xtc_device *device, xtc_queue queue, xtc_event event);

    // The number of counters; their names, which stay valid while the device is open; their values.
    int32_t (*counters)(xtc_device *device, uint32_t *count, const char *const **names,
                        uint64_t *values);

    // Data of an image by its name: an address for copies, valid while the module is loaded, and a
    // size. Such copies are not parallel.
    int32_t (*data)(xtc_device *device, xtc_module module, const char *name, xtc_address *address,
                    uint64_t *nbytes);

    // The memories of the device: every allocation is in all of them, at the same offset. One that
    // alloc() makes is replicated: the same bytes in each. One of alloc_sharded() is in shards of
    // `shard_bytes`, the first in the first memory; the last shards may be padded, or empty. Copies
    // take `nbytes` bytes in either case, and a kernel finds its memory's shard at the address.
    int32_t (*memories)(xtc_device *device, uint32_t *count);
    int32_t (*alloc_sharded)(xtc_device *device, xtc_queue queue, uint64_t nbytes,
                             uint64_t shard_bytes, xtc_address *address);

    // Streams of the machine's own library; NULL where it has none, as a simulator. The member
    // itself may be NULL.
    const xtc_streams *(*streams)(void);
};

// A driver library exports this function alone.
__attribute__((visibility("default"))) const xtc_driver *xtc_driver_table(void);

#endif
