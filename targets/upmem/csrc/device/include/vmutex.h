/* SPDX-License-Identifier: Apache-2.0 */
/* Mutexes in memory, one bit each, guarded by a few atomic bits. */
#ifndef DPU_VMUTEX_H
#define DPU_VMUTEX_H

#include <mutex_pool.h>
#include <stdbool.h>

struct vmutex {
    uint8_t *bits;
    struct mutex_pool *pool;
};

#define VMUTEX_INIT(name, nb_vmutexes, nb_mutexes)                                                 \
    MUTEX_POOL_INIT(__vmutex_pool_##name, nb_mutexes)                                              \
    uint8_t __vmutex_bits_##name[((nb_vmutexes) + 7) / 8];                                         \
    struct vmutex name = {__vmutex_bits_##name, &__vmutex_pool_##name};

bool vmutex_trylock(struct vmutex *vmutex, uint16_t id);
void vmutex_lock(struct vmutex *vmutex, uint16_t id);
void vmutex_unlock(struct vmutex *vmutex, uint16_t id);

#endif
