// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "sim_device.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "sim_futex.h"
#include "sim_image.h"
#include "xtc_error.h"

static sim_channel *channel;
static const sim_device_ops *device;
static const sim_loader *loader;

// End the process with its host, which may be killed without notice.
static void *watch_host(void *unused)
{
    (void)unused;
    struct pollfd host = {.fd = (int)syscall(SYS_pidfd_open, channel->host, 0), .events = POLLIN};
    while (getppid() == channel->host) {
        if (host.fd >= 0)
            poll(&host, 1, -1);
        else
            usleep(200 * 1000); // Linux before 5.3
    }
    _exit(1);
}

static void start_watching(void)
{
    pthread_t thread;
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    int error = pthread_create(&thread, NULL, watch_host, NULL);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    if (error)
        sim_give_up("cannot start the thread that watches the host");
}

static void *map_region(const sim_region *region, uint64_t address)
{
    int fixed = address ? MAP_FIXED_NOREPLACE : 0;
    void *mapped = mmap((void *)(uintptr_t)address, region->nbytes, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_NORESERVE | fixed, SIM_DESCRIPTOR, (off_t)region->offset);
    if (mapped == MAP_FAILED || (address && mapped != (void *)(uintptr_t)address))
        sim_give_up("the device's memory cannot be mapped at its address");
    return mapped;
}

static void *block;
sim_allocations sim_device_allocations;
static void *image;
static sim_output *outputs;
static uint32_t served; // number of the current request

void sim_device_attach(const sim_device_ops *ops)
{
    channel = mmap(NULL, sizeof *channel, PROT_READ | PROT_WRITE, MAP_SHARED, SIM_DESCRIPTOR, 0);
    if (channel == MAP_FAILED || channel->magic != SIM_MAGIC ||
        channel->nbytes != sizeof *channel) {
        fprintf(stderr, "only the driver can start this program, with their shared memory\n");
        exit(2);
    }
    device = ops;
    loader = ops->loader ? ops->loader : &sim_library_loader;
#ifdef SYS_close_range
    syscall(SYS_close_range, SIM_DESCRIPTOR + 1, ~0u, 0); // descriptors inherited from the host
#endif
    sim_fault_install(channel, ops);
    start_watching();
    block = map_region(&channel->block, 0);
    sim_device_allocations = (sim_allocations){map_region(&channel->map, 0), channel->map.nbytes,
                                               channel->memory_address};
    image = map_region(&channel->image, 0);
    if (channel->output.nbytes)
        outputs = map_region(&channel->output, 0);
    map_region(&channel->memory, channel->memory_address);
    close(SIM_DESCRIPTOR);
}

void *sim_device_block(void)
{
    return block;
}

sim_output *sim_device_output(void)
{
    return outputs + served % SIM_RING;
}

static uint64_t allocated_of(uint64_t granule)
{
    return granule < sim_device_allocations.granules ? sim_device_allocations.map[granule] : 0;
}

// A lower bound, possibly 0, of the allocated bytes from `offset` on, as a fast check.
static uint64_t whole_granules(uint64_t offset, uint64_t nbytes)
{
    static const uint8_t full[8] = {SIM_GRANULE, SIM_GRANULE, SIM_GRANULE, SIM_GRANULE,
                                    SIM_GRANULE, SIM_GRANULE, SIM_GRANULE, SIM_GRANULE};
    uint64_t granule = offset / SIM_GRANULE;
    if (offset % SIM_GRANULE || nbytes < sizeof full * SIM_GRANULE ||
        granule + sizeof full > channel->map.nbytes || memcmp(sim_device_allocations.map + granule, full, sizeof full))
        return 0;
    return sizeof full * SIM_GRANULE;
}

void sim_device_memory(uint64_t *address, uint64_t *nbytes)
{
    *address = channel->memory_address;
    *nbytes = channel->memory.nbytes;
}

bool sim_device_is_allocated(uint64_t address, uint64_t nbytes, uint64_t *first_outside)
{
    uint64_t end = address + nbytes;
    *first_outside = address;
    if (address < channel->memory_address || end < address)
        return false;
    while (address < end) {
        uint64_t offset = address - channel->memory_address;
        uint64_t follow = whole_granules(offset, end - address);
        if (!follow) {
            uint64_t within = offset % SIM_GRANULE, allocated = allocated_of(offset / SIM_GRANULE);
            if (allocated <= within)
                return false;
            follow = allocated - within;
        }
        *first_outside = address += follow;
    }
    return true;
}

static int32_t launch(const sim_request *request)
{
    uint64_t function = request->arguments[0];
    const uint32_t *grid = request->grid, *cluster = request->cluster;
    xtc_launch given = {{grid[0], grid[1], grid[2]}, request->count, request->arguments + 1,
                        request->types, {cluster[0], cluster[1], cluster[2]}, NULL};
    const char *name = loader->function_name(function);
    if (!name)
        return xtc_fail(XTC_LAUNCH, "the kernel's module is not loaded");
    sim_fault_kernel_begins(name);
    device->launch(function, name, &given);
    sim_fault_kernel_ends();
    return XTC_OK;
}

static int32_t load(sim_request *request)
{
    sim_fault_kernel_begins("(constructors)");
    int32_t status = loader->load(image, request->arguments[0], &request->result);
    sim_fault_kernel_ends();
    return status;
}

static int32_t find_data(sim_request *request)
{
    return loader->data(request->arguments[0], request->text, &request->result,
                        &request->arguments[1]);
}

static int32_t copy_data(const sim_request *request)
{
    uint64_t address = request->arguments[0], nbytes = request->arguments[1];
    void *data = loader->view(address, nbytes);
    if (!data)
        return xtc_fail_outside(address, nbytes);
    bool writes = request->operation == SIM_WRITE;
    memcpy(writes ? data : image, writes ? image : data, nbytes);
    return XTC_OK;
}

static int32_t serve(sim_request *request)
{
    switch (request->operation) {
    case SIM_LOAD:
        return load(request);
    case SIM_UNLOAD:
        return loader->unload(request->arguments[0]);
    case SIM_FUNCTION:
        return loader->function(request->arguments[0], request->text, &request->result);
    case SIM_DATA:
        return find_data(request);
    case SIM_WRITE:
    case SIM_READ:
        return copy_data(request);
    case SIM_LAUNCH:
        return launch(request);
    default:
        sim_give_up("unknown request");
    }
}

static void answer(sim_request *request)
{
    request->status = serve(request);
    if (request->status)
        snprintf(request->text, sizeof request->text, "%s", xtc_message());
}

void sim_device_serve(void)
{
    uint32_t next = channel->posted;
    channel->state = SIM_READY;
    sim_futex_wake(&channel->state);
    for (;;) {
        while (channel->posted == next)
            sim_futex_wait(&channel->posted, next, NULL);
        served = next;
        answer(&channel->ring[next % SIM_RING]);
        channel->finished = ++next;
        sim_futex_wake(&channel->finished);
    }
}
