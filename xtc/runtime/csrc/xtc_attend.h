// SPDX-License-Identifier: Apache-2.0
// Signal handling in the program's main thread while it waits for a device.
#ifndef XTC_ATTEND_H
#define XTC_ATTEND_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

// Sets the function that the main thread calls while it waits and `*wanted` is not 0: about every
// 20 ms, and immediately after a signal that ends a wait. It may call any function of the driver.
__attribute__((visibility("default"))) void xtc_attend_with(const _Atomic int32_t *wanted,
                                                            void (*serve)(void));

// Call `serve` if this is the main thread and `*wanted` is not 0. The caller must hold no locks.
void xtc_attend(void);

// Wait for `changed` with `lock` held, and attend to signals meanwhile; may wake spuriously.
void xtc_attend_wait(pthread_cond_t *changed, pthread_mutex_t *lock);

#endif
