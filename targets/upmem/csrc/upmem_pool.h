// SPDX-License-Identifier: Apache-2.0
// Threads that share the DPUs of a request among them.
#ifndef UPMEM_POOL_H
#define UPMEM_POOL_H

#include <stdint.h>

// Call `work` for each number below `count`, by `threads` threads at most; returns when all are done.
void upmem_pool_run(uint32_t threads, uint32_t count, void (*work)(uint32_t number));

#endif
