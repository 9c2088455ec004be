/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers between MRAM and WRAM: 8 to 2048 bytes; size and addresses are multiples of 8. */
#ifndef DPU_MRAM_H
#define DPU_MRAM_H

#include <attributes.h>
#include <stdint.h>
#include <xtc_services.h>

extern __mram_ptr uint8_t __sys_used_mram_end[];

/* The first byte of MRAM that the program's variables leave free. */
#define DPU_MRAM_HEAP_POINTER ((__mram_ptr void *)(&__sys_used_mram_end[0]))

XTC_INLINE void mram_read(const __mram_ptr void *from, void *to, unsigned int nb_of_bytes)
{
    XTC_SERVICE(XTC_DMA_READ, (uintptr_t)from, (uintptr_t)to, nb_of_bytes);
}

XTC_INLINE void mram_write(const void *from, __mram_ptr void *to, unsigned int nb_of_bytes)
{
    XTC_SERVICE(XTC_DMA_WRITE, (uintptr_t)to, (uintptr_t)from, nb_of_bytes);
}

#endif
