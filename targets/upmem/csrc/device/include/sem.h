/* SPDX-License-Identifier: Apache-2.0 */
/* Counting semaphores. */
#ifndef DPU_SEM_H
#define DPU_SEM_H

#include <attributes.h>
#include <stdint.h>
#include <xtc_services.h>

typedef struct sem_t {
    uint8_t wait_queue;
    int8_t count;
    int8_t initial_count;
    uint8_t lock;
} sem_t;

#define SEMAPHORE_GET(name) (&(name))
#define SEMAPHORE_INIT(name, counter) sem_t name = {0xff, (counter), (counter), 0};

XTC_INLINE void sem_take(sem_t *sem)
{
    XTC_SERVICE(XTC_SEM_TAKE, (uintptr_t)sem, 0, 0);
}

XTC_INLINE void sem_give(sem_t *sem)
{
    XTC_SERVICE(XTC_SEM_GIVE, (uintptr_t)sem, 0, 0);
}

#endif
