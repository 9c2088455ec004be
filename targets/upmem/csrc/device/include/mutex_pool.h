/* SPDX-License-Identifier: Apache-2.0 */
/* Many locks that share a few mutexes. */
#ifndef DPU_MUTEX_POOL_H
#define DPU_MUTEX_POOL_H

#include <attributes.h>
#include <mutex.h>

struct mutex_pool {
    mutex_id_t hw_mutexes;
    uint8_t nb_mutexes;
};

#define MUTEX_POOL_INIT(name, size)                                                                \
    uint8_t __atomic_bit __mutex_pool_##name[size];                                                \
    struct mutex_pool name = {__mutex_pool_##name, (size)};

XTC_INLINE void mutex_pool_lock(const struct mutex_pool *pool, uint16_t lock_id)
{
    mutex_lock(pool->hw_mutexes + lock_id % pool->nb_mutexes);
}

XTC_INLINE void mutex_pool_unlock(const struct mutex_pool *pool, uint16_t lock_id)
{
    mutex_unlock(pool->hw_mutexes + lock_id % pool->nb_mutexes);
}

#endif
