/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers: tasklets continue once the given number of them have arrived. */
#ifndef DPU_BARRIER_H
#define DPU_BARRIER_H

#include <attributes.h>
#include <stdint.h>
#include <xtc_services.h>

typedef struct barrier_t {
    uint8_t wait_queue;
    uint8_t count; /* tasklets that have not arrived */
    uint8_t initial_count;
    uint8_t lock;
} barrier_t;

#define BARRIER_GET(name) (&(name))
#define BARRIER_INIT(name, counter) barrier_t name = {0xff, (counter), (counter), 0};

XTC_INLINE void barrier_wait(barrier_t *barrier)
{
    XTC_SERVICE(XTC_BARRIER, (uintptr_t)barrier, 0, 0);
}

#endif
