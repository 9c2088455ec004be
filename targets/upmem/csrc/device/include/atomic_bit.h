/* SPDX-License-Identifier: Apache-2.0 */
/* Bits that one tasklet at a time can hold. */
#ifndef DPU_ATOMIC_BIT_H
#define DPU_ATOMIC_BIT_H

#include <attributes.h>
#include <stdint.h>
#include <xtc_services.h>

#define ATOMIC_BIT_GET(name) __atomic_bit_##name
#define ATOMIC_BIT_INIT(name) uint8_t __atomic_bit ATOMIC_BIT_GET(name)
#define ATOMIC_BIT_EXTERN(name) extern uint8_t ATOMIC_BIT_GET(name)
#define ATOMIC_BIT_INDEX(name) (&ATOMIC_BIT_GET(name))
#define ATOMIC_BIT_ACQUIRE(name)                                                                   \
    ((void)XTC_SERVICE(XTC_LOCK, (uintptr_t)ATOMIC_BIT_INDEX(name), 0, 0))
#define ATOMIC_BIT_RELEASE(name)                                                                   \
    ((void)XTC_SERVICE(XTC_RELEASE, (uintptr_t)ATOMIC_BIT_INDEX(name), 0, 0))

#endif
