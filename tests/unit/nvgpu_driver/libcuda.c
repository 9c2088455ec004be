// SPDX-License-Identifier: Apache-2.0
// A stand-in for NVIDIA's driver, whose device is this process. Device code is a shared library, or
// PTX, which begins with ".version" or a comment and is refused if it has no entry. Relevant calls
// are logged as lines of the file $STAND_IN_LOG. $STAND_IN_FAILS is "cuLaunchKernel=700": a call and
// the status that it returns.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
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
enum { OWN = 1000 }; // the first stream that is created
static double clock_us; // of the device
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

// Returns the requested status; or 201, INVALID_CONTEXT, if the call needs a context and has none.
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
                 {716, "CUDA_ERROR_MISALIGNED_ADDRESS"}, {214, "CUDA_ERROR_ECC_UNCORRECTABLE"},
                 {912, "CUDA_ERROR_INVALID_CLUSTER_SIZE"}};
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

// GPU 0 has capability 9.0, or that of $STAND_IN_FIRST_GPU, such as "75"; GPU 1 has 8.6.
result cuDeviceGetAttribute(int *value, int attribute, int device)
{
    BEGIN();
    const char *first = getenv("STAND_IN_FIRST_GPU");
    if (attribute == 97) { // shared memory of a block
        *value = 227 << 10;
        return 0;
    }
    if (attribute == 111) { // of which the system reserves more
        *value = 1 << 10;
        return 0;
    }
    if (attribute == 16) { // multiprocessors
        *value = device == 40 ? 114 : 84;
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

static void remember(uint64_t address, size_t nbytes)
{
    pthread_mutex_lock(&lock);
    blocks++;
    for (int i = 0; i < 64; i++)
        if (!memory[i].address) {
            memory[i].nbytes = nbytes;
            memory[i].gpu = current;
            __atomic_store_n(&memory[i].address, address, __ATOMIC_RELEASE);
            break;
        }
    pthread_mutex_unlock(&lock);
}

result cuMemAlloc_v2(uint64_t *address, size_t nbytes)
{
    BEGIN_IN_CONTEXT();
    if (nbytes > (size_t)1 << 30)
        return 2;
    *address = (uintptr_t)aligned_alloc(256, (nbytes + 255) / 256 * 256);
    memset((void *)(uintptr_t)*address, 0x55, nbytes);
    remember(*address, nbytes);
    return 0;
}

// Allocations of equal size that are mapped to consecutive addresses, as by cuMemCreate and cuMemMap.
result stand_in_map(uint64_t *address, size_t nbytes, int count)
{
    BEGIN_IN_CONTEXT();
    *address = (uintptr_t)aligned_alloc(256, nbytes * (size_t)count);
    for (int i = 0; i < count; i++)
        remember(*address + nbytes * (size_t)i, nbytes);
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

// The device's own streams; 1 and 2 are CUDA's default streams, others are those of a library.
static const char *stream_name(void *stream)
{
    static char other[32];
    if (stream == (void *)OWN)
        return "kernels";
    if (stream == (void *)(OWN + 1))
        return "copies";
    snprintf(other, sizeof other, "stream %d", (int)(uintptr_t)stream);
    return other;
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
    clock_us += (double)nbytes * 1e-6; // a terabyte per second
    memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, nbytes);
    return 0;
}

result cuMemsetD8Async(uint64_t to, unsigned char byte, size_t nbytes, void *stream)
{
    BEGIN_IN_CONTEXT();
    note("fill %u %zu %s", byte, nbytes, stream_name(stream));
    clock_us += (double)nbytes * 1e-6;
    if (nbytes < 64 << 20) // a larger fill only flushes a cache and is never read
        memset((void *)(uintptr_t)to, byte, nbytes);
    return 0;
}

result cuStreamCreate(void **stream, unsigned flags)
{
    BEGIN_IN_CONTEXT();
    streams++;
    *stream = (void *)(uintptr_t)(OWN - 1 + streams);
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

// An event, and when it was recorded by the device's clock, which launches advance.
typedef struct {
    int has_time;
    double microseconds;
} event;

result cuEventCreate(void **made, unsigned flags)
{
    BEGIN_IN_CONTEXT();
    event *new = calloc(1, sizeof *new);
    new->has_time = flags == 0;
    events++;
    *made = new;
    return flags != 2 && flags != 0;
}

result cuEventDestroy_v2(void *made)
{
    BEGIN_IN_CONTEXT();
    free(made);
    events--;
    return 0;
}

result cuEventRecord(void *made, void *stream)
{
    BEGIN_IN_CONTEXT();
    if (made == NULL || stream == NULL)
        return 1;
    event *recorded = made;
    if (recorded->has_time || stream != (void *)OWN)
        note("%s %s", recorded->has_time ? "mark" : "record", stream_name(stream));
    recorded->microseconds = clock_us;
    return 0;
}

result cuStreamWaitEvent(void *stream, void *made, unsigned flags)
{
    BEGIN_IN_CONTEXT();
    note("follow %s", stream_name(stream));
    return made == NULL || flags != 0;
}

result cuEventElapsedTime(float *milliseconds, void *first, void *second)
{
    BEGIN_IN_CONTEXT();
    const event *begin = first, *end = second;
    *milliseconds = (float)((end->microseconds - begin->microseconds) * 1e-3);
    return !begin->has_time || !end->has_time;
}

result cuEventQuery(void *made)
{
    BEGIN_IN_CONTEXT();
    return made == NULL;
}

// Text that kernels have printed and no call has written yet.
static int printed;

result cuEventSynchronize(void *made)
{
    BEGIN_IN_CONTEXT();
    if (printed)
        note("printed text");
    printed = 0;
    return made == NULL;
}

result cuDeviceGetName(char *name, int length, int device)
{
    BEGIN();
    snprintf(name, (size_t)length, "stand-in %d", device - 40);
    return 0;
}

// A tensor map whose bytes encode its parameters.
result cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *address,
                              const uint64_t *sizes, const uint64_t *strides, const uint32_t *box,
                              const uint32_t *steps, int interleave, int swizzle, int promotion,
                              int fill)
{
    BEGIN_IN_CONTEXT();
    (void)fill;
    (void)promotion;
    if ((uintptr_t)map % 128 || !address || (uintptr_t)address % 16 || rank < 1 || rank > 5 || interleave)
        return 1;
    static const uint32_t nbytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4}, patterns[] = {256, 32, 64, 128};
    uint32_t row = type < 13 ? box[0] * nbytes[type] : 1;
    if (row % 16 || (swizzle && row > patterns[swizzle]))
        return 1;
    for (uint32_t i = 0; i < rank; i++)
        if (!sizes[i] || !box[i] || box[i] > 256 || steps[i] != 1 || (i && strides[i - 1] % 16))
            return 1;
    memset(map, 0, 128);
    snprintf(map, 128, "type %d swizzle %d", type, swizzle);
    note("map type %d rank %u size %d,%d box %u,%u swizzle %d", type, rank, (int)sizes[0],
         rank > 1 ? (int)sizes[1] : 1, box[0], rank > 1 ? box[1] : 1, swizzle);
    return 0;
}

// PTX with entries is loaded, too: its kernels do nothing, and take a microsecond for each block
// and 128 threads. The file $STAND_IN_LOG.grids lists launches with another effect, by their blocks
// in x: "fault 7", "crash 8", which ends the process, or "hang 9", which never returns.
typedef struct text_kernel {
    char name[256];
    struct text_kernel *next;
} text_kernel;

typedef struct text_module {
    char *text;
    text_kernel *kernels;
    struct text_module *next;
} text_module;

static text_module *texts;

// The bytes of a constant; NULL if the text has none of this name.
static unsigned char *constant_of(const char *text, const char *name, size_t *nbytes)
{
    char wanted[600];
    snprintf(wanted, sizeof wanted, " %s[", name);
    const char *found = strstr(text, wanted);
    if (!found)
        return NULL;
    *nbytes = strtoul(found + strlen(wanted), NULL, 10);
    unsigned char *bytes = calloc(*nbytes, 1);
    found = strchr(found, '{');
    for (size_t i = 0; found && i < *nbytes; i++) {
        bytes[i] = (unsigned char)strtoul(found + 1, NULL, 10);
        found += 1 + strcspn(found + 1, ",}");
        found = *found == ',' ? found : NULL; // zeros at the end are omitted
    }
    return bytes;
}

static text_module *open_text(const char *image)
{
    text_module *module = calloc(1, sizeof *module);
    module->text = strdup(image);
    for (const char *at = strstr(image, ".entry "); at; at = strstr(at + 1, ".entry ")) {
        text_kernel *kernel = calloc(1, sizeof *kernel);
        sscanf(at, ".entry %255[A-Za-z0-9_$]", kernel->name);
        kernel->next = module->kernels;
        module->kernels = kernel;
    }
    module->next = texts;
    return texts = module;
}

static text_module *text_of(const void *module)
{
    text_module *found = texts;
    while (found && found != module)
        found = found->next;
    return found;
}

static text_kernel *kernel_of(const void *function)
{
    for (text_module *module = texts; module; module = module->next)
        for (text_kernel *kernel = module->kernels; kernel; kernel = kernel->next)
            if (kernel == function)
                return kernel;
    return NULL;
}

static text_kernel *named(const text_module *module, const char *name)
{
    text_kernel *kernel = module->kernels;
    while (kernel && strcmp(kernel->name, name))
        kernel = kernel->next;
    return kernel;
}

static void *open_library(const char *image)
{
    char path[64];
    int file = memfd_create("module", MFD_CLOEXEC);
    size_t nbytes = strtoull(getenv("STAND_IN_IMAGE_BYTES"), NULL, 10);
    // Libraries are identified by their paths, so each gets a path that is unique among copies of
    // this file.
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
    bool is_text = strncmp(image, ".version", 8) == 0 || strncmp(image, "//", 2) == 0;
    if (count != 2 || options[0] != 5 || options[1] != 6)
        return 1;
    if (is_text) // the messages of the assembler if it refuses the code
        snprintf(values[0], (size_t)values[1], "ptxas: line 1: no such instruction");
    BEGIN_IN_CONTEXT();
    if (is_text && !strstr(image, ".entry "))
        return 218;
    if (is_text) {
        *module = open_text(image);
        modules++;
        return 0;
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
    return text_of(module) ? 0 : dlclose(module) != 0;
}

result cuModuleGetFunction(void **function, void *module, const char *name)
{
    BEGIN_IN_CONTEXT();
    *function = text_of(module) ? named(text_of(module), name) : dlsym(module, name);
    return *function ? 0 : 500;
}

result cuModuleGetGlobal_v2(uint64_t *address, size_t *nbytes, void *module, const char *name)
{
    BEGIN_IN_CONTEXT();
    static const struct {
        const char *name;
        size_t nbytes;
    } sizes[] = {{"odd_launch", 28}, {"mapped_launch", 36}, {"mapped_maps", 160}};
    *nbytes = 32;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (strcmp(name, sizes[i].name) == 0)
            *nbytes = sizes[i].nbytes;
    *address = (uintptr_t)(text_of(module) ? constant_of(text_of(module)->text, name, nbytes)
                                           : dlsym(module, name));
    return *address ? 0 : 500;
}

// 1024 threads, and 100 bytes of shared memory in addition to the reserved part.
result cuFuncGetAttribute(int *value, int attribute, void *function)
{
    BEGIN_IN_CONTEXT();
    *value = attribute == 0 ? 1024 : attribute == 1 ? (1 << 10) + 100 : -1;
    return function == NULL;
}

// The limit of dynamic shared memory of functions: 48 KiB, or the configured one.
static struct {
    void *function;
    int nbytes;
} allowed[64];

static int allowed_bytes(void *function)
{
    for (int i = 0; i < 64 && allowed[i].function; i++)
        if (allowed[i].function == function)
            return allowed[i].nbytes;
    return 48 << 10;
}

result cuFuncSetAttribute(void *function, int attribute, int value)
{
    BEGIN_IN_CONTEXT();
    note("attribute %d=%d", attribute, value);
    if (!function || (attribute == 8 && value > 227 << 10))
        return 1;
    for (int i = 0; i < 64 && attribute == 8; i++)
        if (!allowed[i].function || allowed[i].function == function) {
            allowed[i].function = function;
            allowed[i].nbytes = value;
            break;
        }
    return 0;
}

static int is_grid(const char *what, unsigned blocks)
{
    char path[4096], word[16];
    unsigned found;
    int is_there = 0;
    snprintf(path, sizeof path, "%s.grids", getenv("STAND_IN_LOG"));
    FILE *file = fopen(path, "r");
    while (file && fscanf(file, "%15s %u", word, &found) == 2)
        is_there |= strcmp(word, what) == 0 && found == blocks;
    if (file)
        fclose(file);
    return is_there;
}

// CUlaunchAttribute and CUlaunchConfig of cuda.h.
typedef struct {
    int id;
    char rest[4];
    union {
        uint32_t cluster[3];
        char bytes[64];
    } value;
} launch_attribute;

typedef struct {
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
    void *stream;
    launch_attribute *attributes;
    unsigned count;
} launch_config;

result cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                      void *stream, void **parameters, void **extra);

// Of clusters, the only attribute that launches use: at most 8 blocks, which divide the grid.
result cuLaunchKernelEx(const launch_config *config, void *function, void **parameters, void **extra)
{
    BEGIN_IN_CONTEXT();
    if (config->count != 1 || config->attributes->id != 4)
        return 1;
    const uint32_t *cluster = config->attributes->value.cluster;
    uint32_t blocks = cluster[0] * cluster[1] * cluster[2];
    if (!blocks || blocks > 8)
        return 912;
    if (config->grid_x % cluster[0] || config->grid_y % cluster[1] || config->grid_z % cluster[2])
        return 1;
    note("cluster %u,%u,%u", cluster[0], cluster[1], cluster[2]);
    return cuLaunchKernel(function, config->grid_x, config->grid_y, config->grid_z, config->block_x,
                          config->block_y, config->block_z, config->shared_bytes, config->stream,
                          parameters, extra);
}

result cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                      void *stream, void **parameters, void **extra)
{
    BEGIN_IN_CONTEXT();
    note("launch %u,%u,%u %u,%u,%u %u %s", grid_x, grid_y, grid_z, block_x, block_y, block_z,
         shared_bytes, stream_name(stream));
    if (shared_bytes > (unsigned)allowed_bytes(function))
        return 1;
    if (is_grid("crash", grid_x))
        abort();
    while (is_grid("hang", grid_x))
        sleep(1);
    if (is_grid("fault", grid_x))
        return 700;
    printed |= is_grid("print", grid_x);
    clock_us += (double)(grid_x * grid_y * grid_z) * (block_x * block_y * block_z) / 128;
    if (!kernel_of(function))
        ((void (*)(void **))function)(parameters);
    return extra != NULL;
}
