/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers at any MRAM address, through a buffer, and updates of single values. */
#ifndef DPU_MRAM_UNALIGNED_H
#define DPU_MRAM_UNALIGNED_H

#include <attributes.h>
#include <mram.h>
#include <stdint.h>

/* `buffer` must have room for 16 extra bytes. Returns the address of the data in it. */
void *mram_read_unaligned(const __mram_ptr void *from, void *buffer, unsigned int nb_of_bytes);
/* Atomic for the tasklets of a DPU. */
void mram_write_unaligned(const void *from, __mram_ptr void *to, unsigned int nb_of_bytes);
void mram_write_int_atomic(__mram_ptr int *to, int value);
void mram_write_long_atomic(__mram_ptr long long *to, long long value);
void mram_update_int_atomic(__mram_ptr int *to, void (*update)(int *, void *), void *argument);
void mram_update_long_atomic(__mram_ptr long long *to, void (*update)(long long *, void *),
                             void *argument);
void mram_update_byte_atomic(__mram_ptr uint8_t *to, void (*update)(uint8_t *, void *),
                             void *argument);
XTC_INLINE void mram_write_byte_atomic(__mram_ptr uint8_t *to, uint8_t value)
{
    mram_write_unaligned(&value, to, 1);
}

#endif
