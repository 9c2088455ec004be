// SPDX-License-Identifier: Apache-2.0
// A GPU behind NVIDIA's driver, as the files of this driver share it.
//
// Kernels run on a stream of their own, one after another; copies on another one, so that those
// marked parallel overlap with kernels.
#ifndef HW_DEVICE_H
#define HW_DEVICE_H

#include "hw_api.h"
#include "hw_config.h"
#include "hw_maps.h"
#include "hw_memory.h"
#include "xtc_copies.h"
#include "xtc_device.h"

#define HW_MAX_ARGUMENTS 64
#define HW_MAX_STARTED 64

// What a module's constant `<kernel>_launch` holds: blocks where the launch does not say how many (0:
// it has to), threads, bytes of dynamic shared memory, and the number of the parameters that a launch
// gives. The number of maps behind them, which a launch makes, may be missing: 0.
typedef struct {
    uint32_t grid[3], block[3], shared_bytes, parameters, maps;
} hw_shape;
#define HW_SHAPE_BYTES offsetof(hw_shape, maps) // at least

typedef struct hw_function {
    hw_handle handle;
    hw_shape shape;
    hw_map_source maps[HW_MAX_MAPS];
    struct hw_function *next;
    char name[];
} hw_function;

// Data of a module that was asked for.
typedef struct hw_data {
    hw_span span;
    struct hw_data *next;
} hw_data;

typedef struct hw_module {
    hw_handle handle;
    hw_function *functions;
    hw_data *data;
    struct hw_module *next;
} hw_module;

// An event with its time.
typedef struct hw_mark {
    hw_handle event;
    uint64_t set; // when, by hw_now
    struct hw_mark *next;
} hw_mark;

typedef struct {
    _Atomic uint64_t launches, blocks, threads;
} hw_counts;

struct xtc_device {
    xtc_engine engine; // the first, for xtc_engine_of
    hw_api api;
    int ordinal, number; // of the GPU; the driver's
    hw_handle context, kernels, copies;
    hw_handle ends[HW_MAX_STARTED]; // events, of the kernels started and not finished in rotation
    char names[HW_MAX_STARTED][128];
    uint64_t begins[HW_MAX_STARTED]; // when each was started, by hw_now
    uint64_t idle;                   // when the last one ended
    uint64_t started, finished;
    double timeout_s; // of a kernel
    hw_handle endless; // the end of a kernel that took longer
    hw_memory memory;
    hw_module *modules;
    hw_mark *marks;    // not given back
    hw_handle meeting; // an event, on which streams wait for others
    xtc_copies copied;
    hw_counts counts;
    _Atomic bool lost; // its context can do nothing more, for the reason in `failure`
    char failure[XTC_MESSAGE_BYTES];
    bool is_left, is_released; // hw_watch.c has it; nobody else does
    struct xtc_device *next_left;
};

// hw_context.c
int32_t hw_find_gpu(xtc_device *device, const hw_config *config);
int32_t hw_context_open(xtc_device *device);
// Give back what this driver has on the device.
void hw_context_close(xtc_device *device);
// Calls that need the context are between these two: it is this thread's meanwhile.
int32_t hw_enter(xtc_device *device);
void hw_leave(xtc_device *device);

// hw_driver.c
// XTC_LOST where the device is closed or has failed.
int32_t hw_check(xtc_device *device);
// hw_api_failed, after which the device may be lost; XTC_OK for the result 0.
int32_t hw_status(xtc_device *device, hw_result result, int32_t otherwise, const char *what);

// Let all further calls fail for the reason in this thread's message; returns `status`.
int32_t hw_lose(xtc_device *device, int32_t status);
void hw_free(xtc_device *device);

// hw_watch.c
uint64_t hw_now(void); // nanoseconds
// Wait for the end of a kernel that was started; XTC_TIMEOUT, and the device is lost, where it takes
// longer than it may. Inside hw_enter.
int32_t hw_wait_for_kernel(xtc_device *device, uint64_t slot);
// The same of an event that was recorded, counting from `begin`; `what` came before it.
int32_t hw_wait_for_event(xtc_device *device, hw_handle event, uint64_t begin, const char *what);
// hw_context_close, unless a kernel still runs; hw_free, likewise.
void hw_close(xtc_device *device);
void hw_release(xtc_device *device);
// Close what hw_close left on this GPU; XTC_NOT_FOUND where a kernel still runs.
int32_t hw_clear_left(int number);

// hw_foreign.c
// hw_memory_find of what other libraries have on this GPU.
int32_t hw_find_foreign(xtc_device *device, uint64_t address, uint64_t nbytes, hw_span *found);
// Whether all these bytes are in one allocation, theirs or ours.
int32_t hw_find(xtc_device *device, uint64_t address, uint64_t nbytes);

// hw_commands.c
extern const xtc_engine_ops hw_ops;
// Give a kernel to a stream, and count it. Inside hw_enter; `what` is for errors.
int32_t hw_launch(xtc_device *device, const hw_function *function, const xtc_launch *given,
                  hw_handle stream, const char *what);
// Whether the launch fits the kernel.
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
// Whether these bytes are data of a module that was asked for.
bool hw_has_data(const xtc_device *device, uint64_t address, uint64_t nbytes);
void hw_unload_all(xtc_device *device); // inside hw_enter

#endif
