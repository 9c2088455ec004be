// SPDX-License-Identifier: Apache-2.0
// Kernels that exceed the timeout. NVIDIA's driver cannot stop a kernel: its context is unusable until the
// process ends, and most calls would wait for it. A device that runs such a kernel is therefore left open, and
// closed when the kernel is found to have ended.
#include <stdlib.h>
#include <time.h>

#include "hw_device.h"
#include "xtc_error.h"

#define SPIN_NS 2000000u  // spin first: a sleep would add much to the time of a short kernel
#define SLEEP_NS 1000000u // the longest sleep

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static xtc_device *left; // devices that run such a kernel

uint64_t hw_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void pause_after(uint64_t waited)
{
    if (waited < SPIN_NS)
        return;
    uint64_t nanoseconds = waited / 32 < SLEEP_NS ? waited / 32 : SLEEP_NS;
    nanosleep(&(struct timespec){0, (long)nanoseconds}, NULL);
}

int32_t hw_wait_for_event(xtc_device *device, hw_handle event, uint64_t begin, const char *what)
{
    hw_result result;
    while ((result = device->api.event_query(event)) == HW_NOT_READY) {
        uint64_t waited = hw_now() - begin;
        if ((double)waited > device->timeout_s * 1e9) {
            device->endless = event;
            return hw_lose(device, xtc_fail(XTC_TIMEOUT,
                                            "%s: it ran for more than %g s\nthe GPU runs it until "
                                            "it or this process ends",
                                            what, device->timeout_s));
        }
        pause_after(waited);
    }
    // The driver writes what kernels have printed when a call waits, but not for a query ("CUDA C++ Programming
    // Guide", formatted output).
    if (!result)
        result = device->api.event_wait(event);
    return hw_status(device, result, XTC_FAULT, what);
}

int32_t hw_wait_for_kernel(xtc_device *device, uint64_t slot)
{
    uint64_t begin = device->begins[slot] > device->idle ? device->begins[slot] : device->idle;
    int32_t status = hw_wait_for_event(device, device->ends[slot], begin, device->names[slot]);
    if (!device->endless)
        device->idle = hw_now();
    return status;
}

static bool still_runs(xtc_device *device)
{
    if (!device->endless || device->api.context_push(device->context))
        return false;
    bool runs = device->api.event_query(device->endless) == HW_NOT_READY;
    hw_leave(device);
    return runs;
}

void hw_close(xtc_device *device)
{
    if (!still_runs(device)) {
        hw_context_close(device);
        return;
    }
    pthread_mutex_lock(&lock);
    device->is_left = true;
    device->next_left = left;
    left = device;
    pthread_mutex_unlock(&lock);
}

void hw_release(xtc_device *device)
{
    pthread_mutex_lock(&lock);
    bool keep = device->is_left;
    device->is_released = true;
    pthread_mutex_unlock(&lock);
    if (!keep)
        hw_free(device);
}

int32_t hw_clear_left(int number)
{
    int32_t status = XTC_OK;
    pthread_mutex_lock(&lock);
    for (xtc_device **link = &left; *link;) {
        xtc_device *device = *link;
        if (device->number != number) {
            link = &device->next_left;
        } else if (still_runs(device)) {
            status = xtc_fail(XTC_NOT_FOUND, "the GPU still runs a kernel over its time limit: %.900s",
                              device->failure);
            link = &device->next_left;
        } else {
            *link = device->next_left;
            device->is_left = false;
            hw_context_close(device);
            if (device->is_released)
                hw_free(device);
        }
    }
    pthread_mutex_unlock(&lock);
    return status;
}
