// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "sim_host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "sim_futex.h"
#include "sim_output.h"
#include "sim_process.h"
#include "xtc_attend.h"
#include "xtc_error.h"

#define IMAGE_BYTES (64ull << 20)
#define NO_MEMORY "[no memory for the output of kernels]\n"
#define LOST_TEXTS "[the kernel's first %llu text%s lost: only the last 1 MiB is kept]\n"
#define ALIGNMENT (2ull << 20) // of the spaces: the size of the largest page

// How long the host sleeps before it checks whether the process is alive.
static const struct timespec patience = {.tv_nsec = 20 * 1000 * 1000};

static uint64_t reserve(sim_region *region, uint64_t end, uint64_t nbytes)
{
    region->offset = (end + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    region->nbytes = nbytes;
    return region->offset + nbytes;
}

static uint64_t lay_out(sim_channel *channel, const sim_options *options)
{
    uint64_t end = reserve(&channel->block, sizeof *channel, options->block_bytes);
    end = reserve(&channel->map, end, options->memory_bytes / SIM_GRANULE);
    end = reserve(&channel->image, end, IMAGE_BYTES);
    if (options->prints)
        end = reserve(&channel->output, end, SIM_RING * sizeof(sim_output));
    return reserve(&channel->memory, end, options->memory_bytes);
}

static int shared_file(uint64_t nbytes)
{
    int file = memfd_create("simulated device", MFD_CLOEXEC);
    if (file >= 0 && ftruncate(file, (off_t)nbytes)) {
        close(file);
        return -1;
    }
    return file;
}

int32_t sim_host_open(sim_host *sim, const sim_options *options)
{
    sim_channel layout = {.magic = SIM_MAGIC, .nbytes = sizeof layout};
    layout.host = getpid();
    layout.timeout_s = options->timeout_s;
    layout.memory_address = options->memory_address;
    memset(sim, 0, sizeof *sim);
    sim->print = options->print;
    sim->nbytes = lay_out(&layout, options);
    sim->file = shared_file(sim->nbytes);
    void *memory = MAP_FAILED;
    if (sim->file >= 0)
        memory = mmap(NULL, sim->nbytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                      sim->file, 0);
    if (memory == MAP_FAILED) {
        int32_t status = xtc_fail(XTC_NOT_FOUND, "no shared memory of %llu bytes: %s",
                                  (unsigned long long)sim->nbytes, strerror(errno));
        if (sim->file >= 0)
            close(sim->file);
        return status;
    }
    sim->channel = memory;
    *sim->channel = layout;
    return XTC_OK;
}

void *sim_host_block(const sim_host *sim)
{
    return (char *)sim->channel + sim->channel->block.offset;
}

uint8_t *sim_host_map(const sim_host *sim)
{
    return (uint8_t *)sim->channel + sim->channel->map.offset;
}

uint8_t *sim_host_memory(const sim_host *sim)
{
    return (uint8_t *)sim->channel + sim->channel->memory.offset;
}

static bool has_ended(const sim_host *sim)
{
    return sim->stopped || sim_process_has_ended(sim->process);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// The limit for a stopped process, unless the timeout of kernels is shorter.
#define STOPPED_S 5.0

static double stop_limit(const sim_host *sim)
{
    return sim->channel->timeout_s < STOPPED_S ? sim->channel->timeout_s : STOPPED_S;
}

// Enforce the timeout of a process that cannot do so.
static void end_stopped(sim_host *sim)
{
    sim_channel *channel = sim->channel;
    channel->failure.status = XTC_TIMEOUT;
    snprintf(channel->failure.text, sizeof channel->failure.text,
             "the simulator's process %d was stopped for more than %g s", (int)sim->process,
             stop_limit(sim));
    channel->state = SIM_FAILED;
    sim_host_stop(sim);
}

static int32_t lost(const sim_host *sim)
{
    if (sim->channel->state == SIM_FAILED)
        return xtc_fail(XTC_LOST, "the device has stopped: %s", sim->channel->failure.text);
    if (sim->stopped)
        return xtc_fail(XTC_LOST, "the device is closed");
    return xtc_fail(XTC_LOST, "the simulator's process %d is gone", (int)sim->process);
}

// The status of a request without an answer; only the first one reports the cause.
static int32_t failed(sim_host *sim)
{
    if (sim->channel->state != SIM_FAILED || sim->reported)
        return lost(sim);
    sim->reported = true;
    const sim_failure *failure = &sim->channel->failure;
    if (failure->report[0]) // the name must not be truncated
        return xtc_fail(failure->status, "%.600s\nthe full report: %s", failure->text,
                        failure->report);
    return xtc_fail(failure->status, "%s", failure->text);
}

int32_t sim_host_check(const sim_host *sim)
{
    return sim->channel->state == SIM_READY && !has_ended(sim) ? XTC_OK : lost(sim);
}

int32_t sim_host_start(sim_host *sim, const char *executable)
{
    int error = sim_process_start(&sim->process, executable, sim->file);
    close(sim->file);
    sim->file = -1;
    if (error) {
        sim->stopped = true;
        return xtc_fail(XTC_NOT_FOUND, "the simulator %s cannot be started: %s", executable,
                        strerror(error));
    }
    while (sim->channel->state == SIM_STARTING && !has_ended(sim))
        sim_futex_wait(&sim->channel->state, SIM_STARTING, &patience);
    if (sim->channel->state == SIM_READY)
        return XTC_OK;
    failed(sim);
    sim_host_stop(sim);
    return xtc_fail(XTC_NOT_FOUND, "the simulator did not start: %s", xtc_message());
}

// The time that a process with a running kernel has to end after SIGTERM.
#define GRACE_S 0.1

void sim_host_stop(sim_host *sim)
{
    if (atomic_exchange(&sim->stopped, true))
        return;
    bool runs = sim->channel->posted != sim->channel->finished;
    sim_process_end(sim->process, runs ? GRACE_S : 0);
    sim->gone = true;
}

void sim_host_release(sim_host *sim)
{
    if (sim->file >= 0)
        close(sim->file);
    munmap(sim->channel, sim->nbytes);
}

static sim_request *next_request(sim_host *sim, enum sim_operation operation)
{
    sim_request *request = &sim->channel->ring[sim->channel->posted % SIM_RING];
    request->operation = operation;
    request->status = XTC_OK;
    request->count = 0;
    return request;
}

static void post(sim_host *sim)
{
    atomic_fetch_add(&sim->channel->posted, 1);
    sim_futex_wake(&sim->channel->posted);
}

// Wait for the oldest request, which the next post may then overwrite.
static int32_t finish(sim_host *sim, uint64_t *result)
{
    sim_channel *channel = sim->channel;
    uint32_t finished;
    double before = seconds(), stopped = 0;
    while ((finished = channel->finished) == sim->oldest) {
        // A later request may have failed after the oldest one was finished.
        bool ended = channel->state == SIM_FAILED || has_ended(sim);
        if (ended && channel->finished == finished)
            return failed(sim);
        double now = seconds(), passed = now - before;
        before = now;
        // This process may have been stopped as well.
        stopped = sim_process_is_stopped(sim->process) ? stopped + (passed < 1 ? passed : 1) : 0;
        if (stopped > stop_limit(sim))
            end_stopped(sim);
        sim_futex_wait(&channel->finished, finished, &patience);
        if (channel->finished == finished)
            xtc_attend();
    }
    const sim_request *request = &channel->ring[sim->oldest++ % SIM_RING];
    if (request->status)
        return xtc_fail_with(request->status, request->text);
    if (result)
        *result = request->result;
    return XTC_OK;
}

int32_t sim_host_start_kernel(sim_host *sim, uint64_t function, const xtc_launch *launch)
{
    if (sim_host_check(sim))
        return XTC_LOST;
    sim_request *request = next_request(sim, SIM_LAUNCH);
    request->count = launch->count;
    memcpy(request->grid, launch->grid, sizeof request->grid);
    memcpy(request->cluster, launch->cluster, sizeof request->cluster);
    request->arguments[0] = function;
    memcpy(request->arguments + 1, launch->arguments, launch->count * sizeof *launch->arguments);
    memcpy(request->types, launch->types, launch->count);
    post(sim);
    return XTC_OK;
}

static void print(const sim_host *sim, const char *text, uint64_t nbytes)
{
    if (sim->print) {
        sim->print(text, nbytes);
    } else {
        fwrite(text, 1, nbytes, stdout);
        fflush(stdout);
    }
}

// Print all texts, after a line about lost ones.
static void print_output(const sim_host *sim, const sim_output *output)
{
    uint64_t at = output->first, end = output->end, used = 0, lost = output->lost;
    char *text = malloc(SIM_OUTPUT_ROOM + SIM_OUTPUT_TEXT);
    sim_output_head head;
    if (!text)
        return print(sim, NO_MEMORY, sizeof NO_MEMORY - 1);
    if (lost)
        used = (uint64_t)snprintf(text, SIM_TEXT, LOST_TEXTS, (unsigned long long)lost,
                                  lost == 1 ? " is" : "s are");
    while (sim_output_next(output, &at, end, &head, text + used))
        used += head.nbytes;
    print(sim, text, used);
    free(text);
}

// Pass on the output of a launch, however it ended.
static void take_output(const sim_host *sim, uint32_t number)
{
    const sim_region *region = &sim->channel->output;
    if (!region->nbytes)
        return;
    while (sim->stopped && !sim->gone) // it may still print
        nanosleep(&patience, NULL);
    sim_output *output = (sim_output *)((char *)sim->channel + region->offset) + number % SIM_RING;
    if (output->first == output->end)
        return;
    print_output(sim, output);
    madvise(output, sizeof *output, MADV_REMOVE); // reads as zeros from now on
}

int32_t sim_host_finish_kernel(sim_host *sim)
{
    uint32_t number = sim->oldest;
    int32_t status = finish(sim, NULL);
    take_output(sim, number);
    return status;
}

int32_t sim_host_load(sim_host *sim, const void *image, uint64_t nbytes, xtc_module *module)
{
    if (sim_host_check(sim))
        return XTC_LOST;
    const sim_region *region = &sim->channel->image;
    if (nbytes == 0 || nbytes > region->nbytes)
        return xtc_fail(XTC_IMAGE, "an image of %llu bytes cannot be loaded\nthe limit is %llu",
                        (unsigned long long)nbytes, (unsigned long long)region->nbytes);
    void *target = (char *)sim->channel + region->offset;
    memcpy(target, image, nbytes);
    next_request(sim, SIM_LOAD)->arguments[0] = nbytes;
    post(sim);
    int32_t status = finish(sim, module);
    madvise(target, region->nbytes, MADV_REMOVE); // release the memory
    return status;
}

int32_t sim_host_unload(sim_host *sim, xtc_module module)
{
    if (sim_host_check(sim))
        return XTC_LOST;
    next_request(sim, SIM_UNLOAD)->arguments[0] = module;
    post(sim);
    return finish(sim, NULL);
}

static sim_request *symbol_request(sim_host *sim, enum sim_operation operation, xtc_module module,
                                   const char *name)
{
    if (sim_host_check(sim))
        return NULL;
    if (strlen(name) >= SIM_TEXT) {
        xtc_fail(XTC_LAUNCH, "the name of the symbol is longer than %d characters", SIM_TEXT - 1);
        return NULL;
    }
    sim_request *request = next_request(sim, operation);
    request->arguments[0] = module;
    memcpy(request->text, name, strlen(name) + 1);
    post(sim);
    return request;
}

int32_t sim_host_function(sim_host *sim, xtc_module module, const char *name,
                          xtc_function *function)
{
    if (!symbol_request(sim, SIM_FUNCTION, module, name))
        return sim_host_check(sim) ? XTC_LOST : XTC_LAUNCH;
    return finish(sim, function);
}

int32_t sim_host_data(sim_host *sim, xtc_module module, const char *name, xtc_address *address,
                      uint64_t *nbytes)
{
    const sim_request *request = symbol_request(sim, SIM_DATA, module, name);
    if (!request)
        return sim_host_check(sim) ? XTC_LOST : XTC_LAUNCH;
    int32_t status = finish(sim, address);
    *nbytes = status ? 0 : request->arguments[1];
    return status;
}

// Copy a piece of data that fits in the image space.
static int32_t copy_piece(sim_host *sim, enum sim_operation operation, xtc_address address,
                          void *host, uint64_t nbytes)
{
    void *region = (char *)sim->channel + sim->channel->image.offset;
    if (sim_host_check(sim))
        return XTC_LOST;
    if (operation == SIM_WRITE)
        memcpy(region, host, nbytes);
    sim_request *request = next_request(sim, operation);
    request->arguments[0] = address;
    request->arguments[1] = nbytes;
    post(sim);
    int32_t status = finish(sim, NULL);
    if (operation == SIM_READ && !status)
        memcpy(host, region, nbytes);
    return status;
}

int32_t sim_host_copy_data(sim_host *sim, bool writes, xtc_address address, void *host,
                           uint64_t nbytes)
{
    uint64_t most = sim->channel->image.nbytes;
    for (uint64_t done = 0; done < nbytes;) {
        uint64_t piece = nbytes - done < most ? nbytes - done : most;
        int32_t status = copy_piece(sim, writes ? SIM_WRITE : SIM_READ, address + done,
                                    (char *)host + done, piece);
        if (status)
            return status;
        done += piece;
    }
    return XTC_OK;
}
