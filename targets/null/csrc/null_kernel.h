// SPDX-License-Identifier: Apache-2.0
// Kernels run in this process, each on a thread that can be canceled: a kernel holds no resources,
// and writes only to the device's memory.
#ifndef NULL_KERNEL_H
#define NULL_KERNEL_H

#include <pthread.h>
#include <stdbool.h>

#include "null_code.h"
#include "xtc_driver.h"

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread; // the thread of the kernel, while `running`
    bool running, ended;
} null_runner;

void null_runner_open(null_runner *runner);
// Runs all blocks of a kernel. Returns XTC_LOST if it is canceled.
int32_t null_runner_run(null_runner *runner, null_kernel *kernel, const xtc_launch *launch);
// Cancels the running kernel, and refuses later ones.
void null_runner_stop(null_runner *runner);

#endif
