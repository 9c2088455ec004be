/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of vmutex.h and rwlock.h. */
#include <rwlock.h>
#include <vmutex.h>

static volatile uint8_t *byte_of(struct vmutex *vmutex, uint16_t id)
{
    return vmutex->bits + id / 8;
}

bool vmutex_trylock(struct vmutex *vmutex, uint16_t id)
{
    uint8_t bit = (uint8_t)(1u << id % 8);
    /* The byte is shared: its number selects the lock. */
    mutex_pool_lock(vmutex->pool, id / 8);
    volatile uint8_t *byte = byte_of(vmutex, id);
    bool is_free = !(*byte & bit);
    if (is_free)
        *byte |= bit;
    mutex_pool_unlock(vmutex->pool, id / 8);
    return is_free;
}

void vmutex_lock(struct vmutex *vmutex, uint16_t id)
{
    while (!vmutex_trylock(vmutex, id))
        continue;
}

void vmutex_unlock(struct vmutex *vmutex, uint16_t id)
{
    mutex_pool_lock(vmutex->pool, id / 8);
    *byte_of(vmutex, id) &= (uint8_t)~(1u << id % 8);
    mutex_pool_unlock(vmutex->pool, id / 8);
}

static void change(struct rwlock *lock, bool (*may)(int32_t), int32_t by)
{
    for (;;) {
        mutex_lock(lock->mutex);
        bool done = may(lock->readers);
        if (done)
            lock->readers += by;
        mutex_unlock(lock->mutex);
        if (done)
            return;
    }
}

static bool has_no_writer(int32_t readers)
{
    return readers >= 0;
}

static bool is_free(int32_t readers)
{
    return readers == 0;
}

static bool always(int32_t readers)
{
    (void)readers;
    return true;
}

void rwlock_read_lock(struct rwlock *lock)
{
    change(lock, has_no_writer, 1);
}

void rwlock_read_unlock(struct rwlock *lock)
{
    change(lock, always, -1);
}

void rwlock_write_lock(struct rwlock *lock)
{
    change(lock, is_free, -1);
}

void rwlock_write_unlock(struct rwlock *lock)
{
    change(lock, always, 1);
}
