// SPDX-License-Identifier: Apache-2.0
#include "null_kernel.h"

#include <signal.h>

#include "xtc_attend.h"
#include "xtc_error.h"

typedef struct {
    null_runner *runner;
    null_kernel *kernel;
    const xtc_launch *launch;
} job;

void null_runner_open(null_runner *runner)
{
    pthread_mutex_init(&runner->lock, NULL);
    pthread_cond_init(&runner->changed, NULL);
}

static void run_blocks(null_kernel *kernel, const xtc_launch *launch)
{
    uint32_t grid[3] = {launch->grid[0], launch->grid[1], launch->grid[2]}, block[3];
    if (!grid[0])
        grid[0] = grid[1] = grid[2] = 1;
    for (block[2] = 0; block[2] < grid[2]; block[2]++)
        for (block[1] = 0; block[1] < grid[1]; block[1]++)
            for (block[0] = 0; block[0] < grid[0]; block[0]++)
                kernel(launch->arguments, block);
}

// A kernel may be canceled anywhere; the code after it may not.
static void *run_alone(void *argument)
{
    const job *own = argument;
    null_runner *runner = own->runner;
    int before;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
    run_blocks(own->kernel, own->launch);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    pthread_mutex_lock(&runner->lock);
    runner->running = false;
    pthread_cond_broadcast(&runner->changed);
    pthread_mutex_unlock(&runner->lock);
    return NULL;
}

// Signals of the process are handled by the caller's threads.
static int start_thread(null_runner *runner, job *own)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failure = pthread_create(&runner->thread, NULL, run_alone, own);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failure;
}

int32_t null_runner_run(null_runner *runner, null_kernel *kernel, const xtc_launch *launch)
{
    job own = {runner, kernel, launch};
    pthread_mutex_lock(&runner->lock);
    bool started = !runner->ended && !start_thread(runner, &own);
    runner->running = started;
    while (runner->running && !runner->ended)
        xtc_attend_wait(&runner->changed, &runner->lock);
    bool ended = runner->ended;
    pthread_mutex_unlock(&runner->lock);
    if (started)
        pthread_join(runner->thread, NULL);
    if (ended)
        return xtc_fail(XTC_LOST, "the device was closed while a kernel ran");
    return started ? XTC_OK : xtc_fail(XTC_LAUNCH, "no thread can be started for the kernel");
}

void null_runner_stop(null_runner *runner)
{
    pthread_mutex_lock(&runner->lock);
    if (runner->running)
        pthread_cancel(runner->thread);
    runner->ended = true;
    pthread_cond_broadcast(&runner->changed);
    pthread_mutex_unlock(&runner->lock);
}
