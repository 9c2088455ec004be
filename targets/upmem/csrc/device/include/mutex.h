/* SPDX-License-Identifier: Apache-2.0 */
/* Mutexes, one atomic bit each. */
#ifndef DPU_MUTEX_H
#define DPU_MUTEX_H

#include <attributes.h>
#include <atomic_bit.h>
#include <stdbool.h>
#include <stdint.h>

typedef uint8_t *mutex_id_t;

#define MUTEX_GET(name) (name)
#define MUTEX_INIT(name)                                                                           \
    ATOMIC_BIT_INIT(mutex_##name);                                                                 \
    const mutex_id_t name = ATOMIC_BIT_INDEX(mutex_##name);

XTC_INLINE void mutex_lock(mutex_id_t mutex)
{
    XTC_SERVICE(XTC_LOCK, (uintptr_t)mutex, 0, 0);
}

XTC_INLINE bool mutex_trylock(mutex_id_t mutex)
{
    return XTC_SERVICE(XTC_ACQUIRE, (uintptr_t)mutex, 0, 0) == 0;
}

XTC_INLINE void mutex_unlock(mutex_id_t mutex)
{
    XTC_SERVICE(XTC_RELEASE, (uintptr_t)mutex, 0, 0);
}

#endif
