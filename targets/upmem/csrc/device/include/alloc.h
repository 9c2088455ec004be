/* SPDX-License-Identifier: Apache-2.0 */
/* The heap in WRAM: allocations live until mem_reset. */
#ifndef DPU_ALLOC_H
#define DPU_ALLOC_H

#include <attributes.h>
#include <stddef.h>
#include <xtc_services.h>

/* Aligned to 8 bytes. Faults if the heap is full. */
XTC_INLINE void *mem_alloc(size_t size)
{
    return (void *)(uintptr_t)XTC_SERVICE(XTC_HEAP_ALLOC, size, 0, 0);
}

XTC_INLINE void *mem_reset(void)
{
    return (void *)(uintptr_t)XTC_SERVICE(XTC_HEAP_RESET, 0, 0, 0);
}

#include <buddy_alloc.h>
#include <fsb_allocator.h>

#endif
