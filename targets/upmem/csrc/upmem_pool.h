// SPDX-License-Identifier: Apache-2.0
// Threads that share the DPUs of a request.
#ifndef UPMEM_POOL_H
#define UPMEM_POOL_H

#include <stdint.h>

// Calls `work` for each number below `count`, on at most `threads` threads; returns when all are
// done.
void upmem_pool_run(uint32_t threads, uint32_t count, void (*work)(uint32_t number));

#endif
