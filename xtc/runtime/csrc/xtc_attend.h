// SPDX-License-Identifier: Apache-2.0
// What the program's first thread does while it waits for a device: it serves the program's signals.
#ifndef XTC_ATTEND_H
#define XTC_ATTEND_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

// From now on `serve` is called about every 20 ms, and at once after a signal that ends a wait,
// while the first thread waits and `*wanted` is not 0. It may call any function of the driver.
__attribute__((visibility("default"))) void xtc_attend_with(const _Atomic int32_t *wanted,
                                                            void (*serve)(void));

// Call `serve` where this thread is the first one and that is wanted. Without locks.
void xtc_attend(void);

// Wait for a signal of `changed` with `lock` taken, attending meanwhile; may wake early.
void xtc_attend_wait(pthread_cond_t *changed, pthread_mutex_t *lock);

#endif
