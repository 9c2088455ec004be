// SPDX-License-Identifier: Apache-2.0
// A stand-in for NVIDIA's driver, whose device is this process. Device code is a shared library;
// what begins with ".version" or a comment is PTX, which its assembler refuses. Calls that say
// something are noted, one a line, in the file $STAND_IN_LOG. $STAND_IN_FAILS is
// "cuLaunchKernel=700": the call and what it returns.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

typedef int result;

static _Thread_local int pushed, current; // contexts, and the GPU of the last one
static struct {
    uint64_t address, nbytes;
    int gpu;
} memory[64];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of the above and `blocks`
static int retained, streams, events, modules, blocks;

static void note(const char *format, ...)
{
    FILE *file = fopen(getenv("STAND_IN_LOG"), "a");
    va_list arguments;
    va_start(arguments, format);
    vfprintf(file, format, arguments);
    va_end(arguments);
    fputc('\n', file);
    fclose(file);
}

static result failure(const char *call)
{
    const char *fails = getenv("STAND_IN_FAILS");
    size_t length = strlen(call);
    if (fails && strncmp(fails, call, length) == 0 && fails[length] == '=')
        return atoi(fails + length + 1);
    return 0;
}

// Return what was asked for; else 201, INVALID_CONTEXT, where the call needs one and has none.
#define BEGIN()                                                                                    \
    do {                                                                                           \
        if (failure(__func__))                                                                     \
            return failure(__func__);                                                              \
    } while (0)
#define BEGIN_IN_CONTEXT()                                                                         \
    do {                                                                                           \
        BEGIN();                                                                                   \
        if (!pushed)                                                                               \
            return 201;                                                                            \
    } while (0)

result cuInit(unsigned flags)
{
    BEGIN();
    return flags != 0;
}

result cuGetErrorName(result error, const char **name)
{
    static const struct {
        result error;
        const char *name;
    } names[] = {{1, "CUDA_ERROR_INVALID_VALUE"},    {2, "CUDA_ERROR_OUT_OF_MEMORY"},
                 {100, "CUDA_ERROR_NO_DEVICE"},      {200, "CUDA_ERROR_INVALID_IMAGE"},
                 {201, "CUDA_ERROR_INVALID_CONTEXT"}, {218, "CUDA_ERROR_INVALID_PTX"},
                 {500, "CUDA_ERROR_NOT_FOUND"},      {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                 {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"}, {702, "CUDA_ERROR_LAUNCH_TIMEOUT"},
                 {716, "CUDA_ERROR_MISALIGNED_ADDRESS"}, {214, "CUDA_ERROR_ECC_UNCORRECTABLE"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].error == error) {
            *name = names[i].name;
            return 0;
        }
    return 1;
}

result cuGetErrorString(result error, const char **text)
{
    *text = "what the driver says of it";
    return error == 500; // has none
}

result cuDeviceGetCount(int *count)
{
    BEGIN();
    *count = 2;
    return 0;
}

result cuDeviceGet(int *device, int number)
{
    BEGIN();
    *device = 40 + number;
    return 0;
}

// GPU 0 is of capability 9.0, or what $STAND_IN_FIRST_GPU says, such as "75"; GPU 1 of 8.6.
result cuDeviceGetAttribute(int *value, int attribute, int device)
{
    BEGIN();
    const char *first = getenv("STAND_IN_FIRST_GPU");
    if (attribute == 97) { // shared memory of a block
        *value = 227 << 10;
        return 0;
    }
    int capability = device == 40 ? (first ? atoi(first) : 90) : 86;
    *value = attribute == 75 ? capability / 10 : attribute == 76 ? capability % 10 : -1;
    return 0;
}

result cuDeviceTotalMem_v2(size_t *nbytes, int device)
{
    BEGIN();
    *nbytes = (size_t)device << 30;
    return 0;
}

result cuDevicePrimaryCtxRetain(void **context, int device)
{
    BEGIN();
    note("retain %d", device);
    retained++;
    *context = (void *)(uintptr_t)device;
    return 0;
}

result cuDevicePrimaryCtxRelease_v2(int device)
{
    note("release %d: %d streams, %d events, %d modules, %d allocations", device, streams, events,
         modules, blocks);
    retained--;
    return 0;
}

result cuCtxPushCurrent_v2(void *context)
{
    BEGIN();
    pushed++;
    current = (int)(uintptr_t)context - 40;
    return 0;
}

result cuCtxPopCurrent_v2(void **context)
{
    BEGIN_IN_CONTEXT();
    *context = NULL;
    pushed--;
    return 0;
}

result cuMemAlloc_v2(uint64_t *address, size_t nbytes)
{
    BEGIN_IN_CONTEXT();
    if (nbytes > (size_t)1 << 30)
        return 2;
    *address = (uintptr_t)aligned_alloc(256, (nbytes + 255) / 256 * 256);
    memset((void *)(uintptr_t)*address, 0x55, nbytes);
    pthread_mutex_lock(&lock);
    blocks++;
    for (int i = 0; i < 64; i++)
        if (!memory[i].address) {
            memory[i].nbytes = nbytes;
            memory[i].gpu = current;
            __atomic_store_n(&memory[i].address, *address, __ATOMIC_RELEASE);
            break;
        }
    pthread_mutex_unlock(&lock);
    return 0;
}

static int block_of(uint64_t address)
{
    for (int i = 0; i < 64; i++)
        if (memory[i].address && address - memory[i].address < memory[i].nbytes)
            return i;
    return -1;
}

result cuPointerGetAttribute(void *value, int attribute, uint64_t address)
{
    BEGIN_IN_CONTEXT();
    int block = block_of(address);
    if (block < 0 || attribute != 9)
        return 1;
    *(int *)value = memory[block].gpu;
    return 0;
}

result cuMemGetAddressRange_v2(uint64_t *start, size_t *nbytes, uint64_t address)
{
    BEGIN_IN_CONTEXT();
    int block = block_of(address);
    if (block < 0)
        return 1;
    *start = memory[block].address;
    *nbytes = memory[block].nbytes;
    return 0;
}

result cuCtxSynchronize(void)
{
    BEGIN_IN_CONTEXT();
    note("wait for all");
    return 0;
}

result cuMemFree_v2(uint64_t address)
{
    BEGIN_IN_CONTEXT();
    pthread_mutex_lock(&lock);
    int block = block_of(address);
    if (block >= 0)
        memory[block].address = 0;
    blocks--;
    pthread_mutex_unlock(&lock);
    free((void *)(uintptr_t)address);
    return 0;
}

static const char *stream_name(void *stream)
{
    return stream == (void *)1 ? "kernels" : stream == (void *)2 ? "copies" : "?";
}

result cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t nbytes, void *stream)
{
    BEGIN_IN_CONTEXT();
    note("copy_to %zu %s", nbytes, stream_name(stream));
    memcpy((void *)(uintptr_t)to, from, nbytes);
    return 0;
}

result cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t nbytes, void *stream)
{
    BEGIN_IN_CONTEXT();
    note("copy_from %zu %s", nbytes, stream_name(stream));
    memcpy(to, (const void *)(uintptr_t)from, nbytes);
    return 0;
}

result cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t nbytes, void *stream)
{
    BEGIN_IN_CONTEXT();
    note("copy_within %zu %s", nbytes, stream_name(stream));
    memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, nbytes);
    return 0;
}

result cuMemsetD8Async(uint64_t to, unsigned char byte, size_t nbytes, void *stream)
{
    BEGIN_IN_CONTEXT();
    note("fill %u %zu %s", byte, nbytes, stream_name(stream));
    memset((void *)(uintptr_t)to, byte, nbytes);
    return 0;
}

result cuStreamCreate(void **stream, unsigned flags)
{
    BEGIN_IN_CONTEXT();
    streams++;
    *stream = (void *)(uintptr_t)streams;
    return flags != 1;
}

result cuStreamDestroy_v2(void *stream)
{
    BEGIN_IN_CONTEXT();
    (void)stream;
    streams--;
    return 0;
}

result cuStreamSynchronize(void *stream)
{
    BEGIN_IN_CONTEXT();
    return stream == NULL;
}

result cuEventCreate(void **event, unsigned flags)
{
    BEGIN_IN_CONTEXT();
    *event = (void *)(uintptr_t)(++events + 100);
    return flags != 2;
}

result cuEventDestroy_v2(void *event)
{
    BEGIN_IN_CONTEXT();
    (void)event;
    events--;
    return 0;
}

result cuEventRecord(void *event, void *stream)
{
    BEGIN_IN_CONTEXT();
    return event == NULL || stream != (void *)1;
}

result cuEventQuery(void *event)
{
    BEGIN_IN_CONTEXT();
    return event == NULL;
}

static void *open_library(const char *image)
{
    char path[64];
    int file = memfd_create("module", MFD_CLOEXEC);
    size_t nbytes = strtoull(getenv("STAND_IN_IMAGE_BYTES"), NULL, 10);
    // Libraries are known by their paths, so each gets a path that no other copy of this file makes.
    char name[96];
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(name, sizeof name, P_tmpdir "/stand-in-%d-%ld-%ld-%p.so", getpid(), (long)now.tv_sec,
             now.tv_nsec, (void *)image);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (write(file, image, nbytes) != (ssize_t)nbytes)
        return NULL;
    void *library = symlink(path, name) ? NULL : dlopen(name, RTLD_NOW | RTLD_LOCAL);
    unlink(name);
    close(file);
    return library;
}

result cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options,
                          void **values)
{
    BEGIN_IN_CONTEXT();
    if (count != 2 || options[0] != 5 || options[1] != 6)
        return 1;
    if (strncmp(image, ".version", 8) == 0 || strncmp(image, "//", 2) == 0) {
        snprintf(values[0], (size_t)values[1], "ptxas: line 1: no such instruction");
        return 218;
    }
    if (strncmp(image, "\177ELF", 4) != 0)
        return 200;
    *module = open_library(image);
    modules += *module != NULL;
    return *module ? 0 : 200;
}

result cuModuleUnload(void *module)
{
    BEGIN_IN_CONTEXT();
    modules--;
    return dlclose(module) != 0;
}

result cuModuleGetFunction(void **function, void *module, const char *name)
{
    BEGIN_IN_CONTEXT();
    *function = dlsym(module, name);
    return *function ? 0 : 500;
}

result cuModuleGetGlobal_v2(uint64_t *address, size_t *nbytes, void *module, const char *name)
{
    BEGIN_IN_CONTEXT();
    *address = (uintptr_t)dlsym(module, name);
    *nbytes = strncmp(name, "odd", 3) ? 32 : 28;
    return *address ? 0 : 500;
}

// 1024 threads, and 100 bytes of shared memory.
result cuFuncGetAttribute(int *value, int attribute, void *function)
{
    BEGIN_IN_CONTEXT();
    *value = attribute == 0 ? 1024 : attribute == 1 ? 100 : -1;
    return function == NULL;
}

result cuFuncSetAttribute(void *function, int attribute, int value)
{
    BEGIN_IN_CONTEXT();
    note("attribute %d=%d", attribute, value);
    return function == NULL;
}

result cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                      void *stream, void **parameters, void **extra)
{
    BEGIN_IN_CONTEXT();
    note("launch %u,%u,%u %u,%u,%u %u %s", grid_x, grid_y, grid_z, block_x, block_y, block_z,
         shared_bytes, stream_name(stream));
    ((void (*)(void **))function)(parameters);
    return extra != NULL;
}
