// SPDX-License-Identifier: Apache-2.0
// Waits on a word of shared memory (Linux futexes between processes).
#ifndef SIM_FUTEX_H
#define SIM_FUTEX_H

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// Sleep while `*word` is `value`, for at most `limit` unless that is NULL; may wake spuriously.
static inline void sim_futex_wait(_Atomic uint32_t *word, uint32_t value,
                                  const struct timespec *limit)
{
    syscall(SYS_futex, word, FUTEX_WAIT, value, limit, NULL, 0);
}

static inline void sim_futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

#endif
