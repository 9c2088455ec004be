// SPDX-License-Identifier: Apache-2.0
// A GPU behind NVIDIA's driver: the declarations that the files of this driver share.
//
// Kernels run on one stream, one after another, and copies on a second one, so that copies marked parallel
// overlap with kernels.
#ifndef HW_DEVICE_H
#define HW_DEVICE_H

#include "hw_api.h"
#include "hw_config.h"
#include "hw_maps.h"
#include "xtc_allocations.h"
#include "xtc_copies.h"
#include "xtc_device.h"

#define HW_MAX_ARGUMENTS 64
#define HW_MAX_STARTED 64

// The content of a module's constant `<kernel>_launch`: the blocks if the launch does not set them (0: it must),
// threads, bytes of dynamic shared memory, and the number of parameters that a launch passes. The number of
// maps that follow the parameters may be missing, which means 0.
typedef struct {
    uint32_t grid[3], block[3], shared_bytes, parameters, maps;
} hw_shape;
#define HW_SHAPE_BYTES offsetof(hw_shape, maps) // the smallest size

typedef struct hw_function {
    hw_handle handle;
    hw_shape shape;
    hw_map_source maps[HW_MAX_MAPS];
    struct hw_function *next;
    char name[];
} hw_function;

// Data of a module that has been looked up.
typedef struct hw_data {
    xtc_allocation span;
    struct hw_data *next;
} hw_data;

typedef struct hw_module {
    hw_handle handle;
    hw_function *functions;
    hw_data *data;
    struct hw_module *next;
} hw_module;

// A timing event.
typedef struct hw_mark {
    hw_handle event;
    uint64_t set; // the time by hw_now
    struct hw_mark *next;
} hw_mark;

typedef struct {
    _Atomic uint64_t launches, blocks, threads;
} hw_counts;

struct xtc_device {
    xtc_engine engine; // the first member, for xtc_engine_of
    hw_api api;
    int ordinal, number; // the driver's handle of the GPU, and its number
    hw_handle context, kernels, copies;
    hw_handle ends[HW_MAX_STARTED]; // events at the ends of started kernels, in rotation
    char names[HW_MAX_STARTED][128];
    uint64_t begins[HW_MAX_STARTED]; // the start times by hw_now
    uint64_t idle;                   // the time at which the last one ended
    uint64_t started, finished;
    double timeout_s; // of a kernel
    hw_handle endless; // the event at the end of a kernel that has exceeded it
    xtc_allocations memory;
    hw_module *modules;
    hw_mark *marks;    // not released yet
    hw_handle meeting; // an event by which a stream waits for another
    xtc_copies copied;
    hw_counts counts;
    _Atomic bool lost; // its context is unusable, for the reason in `failure`
    char failure[XTC_MESSAGE_BYTES];
    bool is_left, is_released; // hw_watch.c keeps it; its owner has released it
    struct xtc_device *next_left;
};

// hw_context.c
int32_t hw_find_gpu(xtc_device *device, const hw_config *config);
int32_t hw_context_open(xtc_device *device);
// Release the resources of this driver on the device.
void hw_context_close(xtc_device *device);
// Make the context current to this thread between these two calls.
int32_t hw_enter(xtc_device *device);
void hw_leave(xtc_device *device);

// hw_driver.c
// XTC_LOST if the device is closed or has failed.
int32_t hw_check(xtc_device *device);
// The status of a result, XTC_OK for 0; the device may be lost after an error.
int32_t hw_status(xtc_device *device, hw_result result, int32_t otherwise, const char *what);

// Let all further calls fail for the reason in this thread's message; returns `status`.
int32_t hw_lose(xtc_device *device, int32_t status);
void hw_free(xtc_device *device);

// hw_watch.c
uint64_t hw_now(void); // nanoseconds
// Wait for the end of a started kernel. If it exceeds the timeout, the device is lost and the status is
// XTC_TIMEOUT. Inside hw_enter.
int32_t hw_wait_for_kernel(xtc_device *device, uint64_t slot);
// The same for a recorded event, with the timeout counted from `begin`; `what` names the work before it.
int32_t hw_wait_for_event(xtc_device *device, hw_handle event, uint64_t begin, const char *what);
// hw_context_close, unless a kernel still runs; hw_free, likewise.
void hw_close(xtc_device *device);
void hw_release(xtc_device *device);
// Close the devices that hw_close has left open on this GPU; XTC_NOT_FOUND if a kernel still runs.
int32_t hw_clear_left(int number);

// hw_foreign.c
// xtc_allocations_find for memory of other libraries on this GPU.
int32_t hw_find_foreign(xtc_device *device, uint64_t address, uint64_t nbytes, xtc_allocation *found);
// Whether all these bytes are in one allocation, of this driver or of another library.
int32_t hw_find(xtc_device *device, uint64_t address, uint64_t nbytes);

// hw_commands.c
extern const xtc_engine_ops hw_ops;
// Launch a kernel on a stream, and count it. Inside hw_enter; errors begin with `what`.
int32_t hw_launch(xtc_device *device, const hw_function *function, const xtc_launch *given,
                  hw_handle stream, const char *what);
// Check that the launch fits the kernel.
int32_t hw_check_launch(const xtc_device *device, const hw_function *function,
                        const xtc_launch *given);

// hw_streams.c
extern const xtc_streams hw_streams;
void hw_unmark_all(xtc_device *device); // inside hw_enter

// hw_modules.c
int32_t hw_load(xtc_device *device, const void *image, uint64_t nbytes, xtc_module *module);
int32_t hw_unload(xtc_device *device, xtc_module module);
int32_t hw_function_of(xtc_device *device, xtc_module module, const char *name,
                       xtc_function *function);
int32_t hw_data_of(xtc_device *device, xtc_module module, const char *name, xtc_address *address,
                   uint64_t *nbytes);
// Whether these bytes are data of a module that has been looked up.
bool hw_has_data(const xtc_device *device, uint64_t address, uint64_t nbytes);
void hw_unload_all(xtc_device *device); // inside hw_enter

#endif
