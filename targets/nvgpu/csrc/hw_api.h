// SPDX-License-Identifier: Apache-2.0
// NVIDIA's driver: the functions of libcuda that this driver calls, which it looks up when it opens a device.
#ifndef HW_API_H
#define HW_API_H

#include <stddef.h>
#include <stdint.h>

typedef int hw_result; // CUresult
typedef void *hw_handle; // a context, stream, event, module or function

// CUlaunchAttribute with a cluster size, and CUlaunchConfig.
typedef struct {
    int id;
    char rest[4];
    union {
        uint32_t cluster[3];
        char bytes[64];
    } value;
} hw_launch_attribute;

typedef struct {
    unsigned grid[3], block[3], shared_bytes;
    hw_handle stream;
    hw_launch_attribute *attributes;
    unsigned count;
} hw_launch_config;

// Member, name in the library and parameters, as cuda.h of CUDA 11.0 and later declares them.
#define HW_FUNCTIONS(X)                                                                            \
    X(init, "cuInit", (unsigned flags))                                                            \
    X(error_name, "cuGetErrorName", (hw_result result, const char **name))                         \
    X(error_text, "cuGetErrorString", (hw_result result, const char **text))                       \
    X(device_count, "cuDeviceGetCount", (int *count))                                              \
    X(device_get, "cuDeviceGet", (int *device, int number))                                        \
    X(device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, int device))           \
    X(device_memory, "cuDeviceTotalMem_v2", (size_t * nbytes, int device))                         \
    X(context_retain, "cuDevicePrimaryCtxRetain", (hw_handle * context, int device))               \
    X(context_release, "cuDevicePrimaryCtxRelease_v2", (int device))                               \
    X(context_push, "cuCtxPushCurrent_v2", (hw_handle context))                                    \
    X(context_pop, "cuCtxPopCurrent_v2", (hw_handle * context))                                    \
    X(context_wait, "cuCtxSynchronize", (void))                                                    \
    X(pointer_attribute, "cuPointerGetAttribute", (void *value, int attribute, uint64_t address))  \
    X(address_range, "cuMemGetAddressRange_v2",                                                    \
      (uint64_t * start, size_t * nbytes, uint64_t address))                                       \
    X(alloc, "cuMemAlloc_v2", (uint64_t * address, size_t nbytes))                                 \
    X(free, "cuMemFree_v2", (uint64_t address))                                                    \
    X(copy_to, "cuMemcpyHtoDAsync_v2",                                                             \
      (uint64_t to, const void *from, size_t nbytes, hw_handle stream))                            \
    X(copy_from, "cuMemcpyDtoHAsync_v2",                                                           \
      (void *to, uint64_t from, size_t nbytes, hw_handle stream))                                  \
    X(copy_within, "cuMemcpyDtoDAsync_v2",                                                         \
      (uint64_t to, uint64_t from, size_t nbytes, hw_handle stream))                               \
    X(fill, "cuMemsetD8Async",                                                                     \
      (uint64_t to, unsigned char byte, size_t nbytes, hw_handle stream))                          \
    X(stream_create, "cuStreamCreate", (hw_handle * stream, unsigned flags))                       \
    X(stream_destroy, "cuStreamDestroy_v2", (hw_handle stream))                                    \
    X(stream_wait, "cuStreamSynchronize", (hw_handle stream))                                      \
    X(event_create, "cuEventCreate", (hw_handle * event, unsigned flags))                          \
    X(event_destroy, "cuEventDestroy_v2", (hw_handle event))                                       \
    X(event_record, "cuEventRecord", (hw_handle event, hw_handle stream))                          \
    X(event_elapsed, "cuEventElapsedTime",                                                         \
      (float *milliseconds, hw_handle first, hw_handle second))                                    \
    X(stream_follow, "cuStreamWaitEvent", (hw_handle stream, hw_handle event, unsigned flags))     \
    X(event_query, "cuEventQuery", (hw_handle event))                                              \
    X(event_wait, "cuEventSynchronize", (hw_handle event))                                         \
    X(module_load, "cuModuleLoadDataEx",                                                           \
      (hw_handle * module, const void *image, unsigned count, int *options, void **values))        \
    X(module_unload, "cuModuleUnload", (hw_handle module))                                         \
    X(module_function, "cuModuleGetFunction",                                                      \
      (hw_handle * function, hw_handle module, const char *name))                                  \
    X(module_global, "cuModuleGetGlobal_v2",                                                       \
      (uint64_t * address, size_t *nbytes, hw_handle module, const char *name))                    \
    X(function_get, "cuFuncGetAttribute", (int *value, int attribute, hw_handle function))         \
    X(function_set, "cuFuncSetAttribute", (hw_handle function, int attribute, int value))          \
    X(launch, "cuLaunchKernel",                                                                    \
      (hw_handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,    \
       unsigned block_y, unsigned block_z, unsigned shared_bytes, hw_handle stream,                \
       void **parameters, void **extra))

// Functions of later versions, NULL if the driver lacks them.
#define HW_LATER_FUNCTIONS(X)                                                                      \
    X(encode_map, "cuTensorMapEncodeTiled",                                                        \
      (void *map, int type, uint32_t rank, void *address, const uint64_t *sizes,                   \
       const uint64_t *strides, const uint32_t *box, const uint32_t *steps, int interleave,        \
       int swizzle, int promotion, int fill))                                                      \
    X(launch_with, "cuLaunchKernelEx",                                                             \
      (const hw_launch_config *config, hw_handle function, void **parameters, void **extra))

#define HW_MEMBER(member, name, parameters) hw_result(*member) parameters;
typedef struct {
    HW_FUNCTIONS(HW_MEMBER)
    HW_LATER_FUNCTIONS(HW_MEMBER)
} hw_api;

// Values of cuda.h.
enum {
    HW_NOT_READY = 600, // a result
    HW_STREAM_NON_BLOCKING = 1,
    HW_EVENT_DISABLE_TIMING = 2,
    HW_COMPUTE_CAPABILITY_MAJOR = 75,
    HW_COMPUTE_CAPABILITY_MINOR = 76,
    HW_MAX_SHARED_BYTES_BLOCK = 97,
    HW_RESERVED_SHARED_BYTES_BLOCK = 111,
    HW_POINTER_DEVICE_ORDINAL = 9,
    HW_FUNCTION_MAX_THREADS = 0,
    HW_FUNCTION_SHARED_BYTES = 1, // static only
    HW_FUNCTION_MAX_DYNAMIC_SHARED_BYTES = 8,
    HW_LAUNCH_CLUSTER = 4, // the id of an attribute
    HW_JIT_ERROR_LOG_BUFFER = 5,
    HW_JIT_ERROR_LOG_BUFFER_BYTES = 6,
};

// Look up all functions. XTC_NOT_FOUND, with the library's name, if one is missing.
int32_t hw_api_load(hw_api *api, const char *library);
// The status of a result other than 0, `otherwise` if it does not imply one. The message begins with `what`
// and the name of the error.
int32_t hw_api_failed(const hw_api *api, hw_result result, int32_t otherwise, const char *what);

#endif
