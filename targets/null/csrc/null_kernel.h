// SPDX-License-Identifier: Apache-2.0
// Kernels that run in this process, each on a thread, which can be ended: a kernel holds nothing, and
// writes to the device's memory alone.
#ifndef NULL_KERNEL_H
#define NULL_KERNEL_H

#include <pthread.h>
#include <stdbool.h>

#include "null_code.h"
#include "xtc_driver.h"

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread; // that runs a kernel, where `running`
    bool running, ended;
} null_runner;

void null_runner_open(null_runner *runner);
// Run all blocks of a kernel. Returns XTC_LOST where it is ended.
int32_t null_runner_run(null_runner *runner, null_kernel *kernel, const xtc_launch *launch);
// End the kernel that runs, and any that would follow.
void null_runner_stop(null_runner *runner);

#endif
