// SPDX-License-Identifier: Apache-2.0
// The stand-in's calls; each is logged as a line of the file $STAND_IN_LOG.
#define _GNU_SOURCE
#include "mppa_offload_host.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PHYSICAL 0x7000000000000000u // added to a virtual address

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

static _Thread_local uint32_t cluster;

__attribute__((visibility("default"))) uint32_t dev_cluster_id(void)
{
    return cluster;
}

int mppa_offload_create(mppa_offload_host_context_t *context, mppa_offload_host_config_t *config)
{
    const char *mode = getenv("MPPA_RPROC_PLATFORM_MODE"), *path = getenv("MPPA_RPROC_SIM_PATH");
    const mppa_offload_host_acc_config_t *one = config->accelerator_configs;
    note("create %s queues=%d mode=%s path=%s", one->firmware_name, one->nb_sysqueue,
         mode ? mode : "", path ? path : "");
    context->is_open = 1;
    return getenv("STAND_IN_FAILS") != NULL;
}

int mppa_offload_destroy(mppa_offload_host_context_t *context)
{
    note("destroy");
    return !context->is_open;
}

mppa_offload_accelerator_t *mppa_offload_get_accelerator(mppa_offload_host_context_t *context,
                                                         int number)
{
    return number == 0 ? (mppa_offload_accelerator_t *)context : NULL;
}

mppa_offload_sysqueue_t *mppa_offload_get_sysqueue(mppa_offload_accelerator_t *accelerator,
                                                   int number)
{
    (void)accelerator;
    return (mppa_offload_sysqueue_t *)(uintptr_t)(number + 1);
}

int mppa_offload_alloc(mppa_offload_sysqueue_t *queue, size_t nbytes, size_t alignment, int mode,
                       uint64_t *address, uint64_t *physical)
{
    void *place = NULL;
    (void)queue;
    if (mode != MPPA_OFFLOAD_ALLOC_DDR || nbytes > 1u << 30 ||
        posix_memalign(&place, alignment, nbytes))
        return 1;
    *address = (uintptr_t)place;
    *physical = *address + PHYSICAL;
    note("alloc %zu", nbytes);
    return 0;
}

int mppa_offload_free(mppa_offload_sysqueue_t *queue, int mode, uint64_t address)
{
    (void)queue;
    (void)mode;
    note("free");
    free((void *)(uintptr_t)address);
    return 0;
}

int mppa_offload_write(mppa_offload_accelerator_t *accelerator, const void *from,
                       uint64_t physical, size_t nbytes, void *event)
{
    (void)accelerator;
    (void)event;
    memcpy((void *)(uintptr_t)(physical - PHYSICAL), from, nbytes);
    return 0;
}

int mppa_offload_read(mppa_offload_accelerator_t *accelerator, void *to, uint64_t physical,
                      size_t nbytes, void *event)
{
    (void)accelerator;
    (void)event;
    memcpy(to, (void *)(uintptr_t)(physical - PHYSICAL), nbytes);
    return 0;
}

int mppa_offload_acc_load(mppa_offload_accelerator_t *accelerator, void *image, size_t nbytes,
                          int flags, uint64_t address, uint64_t physical, uint64_t *relocation)
{
    char path[64];
    int file = memfd_create("image", 0);
    (void)accelerator;
    (void)flags;
    if (physical != address + PHYSICAL || write(file, image, nbytes) != (ssize_t)nbytes)
        return 1;
    Dl_info own; // whose dev_cluster_id the image must find
    dladdr((void *)mppa_offload_create, &own);
    dlopen(own.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    *relocation = (uintptr_t)dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    note("load %s", *relocation ? "ok" : dlerror());
    return *relocation == 0;
}

int mppa_offload_acc_unload(mppa_offload_accelerator_t *accelerator, uint64_t relocation,
                            int flags)
{
    (void)accelerator;
    (void)flags;
    note("unload");
    return dlclose((void *)(uintptr_t)relocation);
}

int mppa_offload_query_symbol(mppa_offload_sysqueue_t *queue, uint64_t relocation,
                              const char *name, uint64_t *address)
{
    (void)queue;
    *address = (uintptr_t)dlsym((void *)(uintptr_t)relocation, name);
    return *address == 0;
}

int mppa_offload_buffer_exec(mppa_offload_sysqueue_t *queue, int count, uint64_t address, int a,
                             int b, bool c, bool d, void *event)
{
    const struct mppa_offload_buffer_exec_cmd *call = (const void *)(uintptr_t)address;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    (void)event;
    cluster = (uint32_t)((uintptr_t)queue - 1);
    note("exec %d on %u", count, cluster);
    ((void (*)(const uint64_t *))(uintptr_t)call->virt_func_ptr)(
        (const uint64_t *)(uintptr_t)call->virt_arg_ptr);
    return 0;
}
