/* SPDX-License-Identifier: Apache-2.0 */
/* Locks for one writer or many readers. */
#ifndef DPU_RWLOCK_H
#define DPU_RWLOCK_H

#include <mutex.h>

struct rwlock {
    mutex_id_t mutex;
    volatile int32_t readers; /* -1: one writer */
};

#define RWLOCK_INIT(name)                                                                          \
    ATOMIC_BIT_INIT(rwlock_##name);                                                                \
    struct rwlock name = {ATOMIC_BIT_INDEX(rwlock_##name), 0};

void rwlock_read_lock(struct rwlock *lock);
void rwlock_read_unlock(struct rwlock *lock);
void rwlock_write_lock(struct rwlock *lock);
void rwlock_write_unlock(struct rwlock *lock);

#endif
