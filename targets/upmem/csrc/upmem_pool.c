// SPDX-License-Identifier: Apache-2.0
#include "upmem_pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define MAX_THREADS 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t begins = PTHREAD_COND_INITIALIZER, ends = PTHREAD_COND_INITIALIZER;
static uint32_t helpers; // threads in addition to the caller
static uint32_t round_number, busy;
static void (*job)(uint32_t);
static uint32_t job_count;
static _Atomic uint32_t next;

static void take_all(void)
{
    for (uint32_t number; (number = next++) < job_count;)
        job(number);
}

static void *help(void *unused)
{
    uint32_t seen = 0;
    (void)unused;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (round_number == seen)
            pthread_cond_wait(&begins, &lock);
        seen = round_number;
        pthread_mutex_unlock(&lock);
        take_all();
        pthread_mutex_lock(&lock);
        if (--busy == 0)
            pthread_cond_signal(&ends);
    }
    return NULL;
}

static void start_helpers(uint32_t wanted)
{
    pthread_t thread;
    while (helpers < wanted && helpers < MAX_THREADS && !pthread_create(&thread, NULL, help, NULL))
        helpers++;
}

void upmem_pool_run(uint32_t threads, uint32_t count, void (*work)(uint32_t number))
{
    job = work;
    job_count = count;
    next = 0;
    if (threads < 2 || count < 2) {
        take_all();
        return;
    }
    pthread_mutex_lock(&lock);
    start_helpers((threads < count ? threads : count) - 1);
    busy = helpers;
    round_number++;
    pthread_cond_broadcast(&begins);
    pthread_mutex_unlock(&lock);
    take_all();
    pthread_mutex_lock(&lock);
    while (busy)
        pthread_cond_wait(&ends, &lock);
    pthread_mutex_unlock(&lock);
}
