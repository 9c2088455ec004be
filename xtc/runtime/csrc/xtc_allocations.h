// SPDX-License-Identifier: Apache-2.0
// The allocations of a device whose memory a vendor's library manages.
#ifndef XTC_ALLOCATIONS_H
#define XTC_ALLOCATIONS_H

#include <pthread.h>
#include <stdint.h>

#include "xtc_driver.h"

typedef struct {
    xtc_address address;
    uint64_t nbytes;
    uint64_t physical; // the address for copies, if they use another one
} xtc_allocation;

typedef struct {
    xtc_allocation *entries;
    uint64_t count, capacity, used;
    pthread_mutex_t lock;
} xtc_allocations;

void xtc_allocations_open(xtc_allocations *all);
void xtc_allocations_close(xtc_allocations *all);
int32_t xtc_allocations_add(xtc_allocations *all, xtc_allocation added);
// Forgets the allocation that begins at `address`.
int32_t xtc_allocations_remove(xtc_allocations *all, xtc_address address);
// The allocation that contains all these bytes.
int32_t xtc_allocations_find(xtc_allocations *all, xtc_address address, uint64_t nbytes,
                             xtc_allocation *found);

#endif
