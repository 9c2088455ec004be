// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "xtc_attend.h"

#include <errno.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_NS (20 * 1000 * 1000)
#define SECOND_NS (1000 * 1000 * 1000)

static const _Atomic int32_t *wanted;
static void (*serve)(void);

void xtc_attend_with(const _Atomic int32_t *flag, void (*function)(void))
{
    wanted = flag;
    serve = function;
}

static bool attends(void)
{
    return serve && *wanted && gettid() == getpid();
}

void xtc_attend(void)
{
    if (attends())
        serve();
}

static struct timespec soon(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += PATIENCE_NS;
    until.tv_sec += until.tv_nsec / SECOND_NS;
    until.tv_nsec %= SECOND_NS;
    return until;
}

void xtc_attend_wait(pthread_cond_t *changed, pthread_mutex_t *lock)
{
    if (!attends()) {
        pthread_cond_wait(changed, lock);
        return;
    }
    const struct timespec until = soon();
    if (pthread_cond_timedwait(changed, lock, &until) != ETIMEDOUT)
        return;
    pthread_mutex_unlock(lock);
    serve();
    pthread_mutex_lock(lock);
}
