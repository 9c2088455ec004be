/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of mram_unaligned.h: words of 8 bytes are read, modified and written back under a
 * lock. */
#include <atomic_bit.h>
#include <mram_unaligned.h>
#include <string.h>

ATOMIC_BIT_INIT(xtc_mram);

void *mram_read_unaligned(const __mram_ptr void *from, void *buffer, unsigned int nb_of_bytes)
{
    uintptr_t at = (uintptr_t)from, first = at & ~(uintptr_t)7;
    uintptr_t end = (at + nb_of_bytes + 7) & ~(uintptr_t)7;
    mram_read((const __mram_ptr void *)first, buffer, end - first);
    return (uint8_t *)buffer + (at - first);
}

/* Bytes of one word of MRAM. */
static void merge(const uint8_t *from, uintptr_t to, unsigned int n)
{
    __dma_aligned uint8_t word[8];
    __mram_ptr void *at = (__mram_ptr void *)(to & ~(uintptr_t)7);
    ATOMIC_BIT_ACQUIRE(xtc_mram);
    mram_read(at, word, 8);
    memcpy(word + (to & 7), from, n);
    mram_write(word, at, 8);
    ATOMIC_BIT_RELEASE(xtc_mram);
}

void mram_write_unaligned(const void *from, __mram_ptr void *to, unsigned int nb_of_bytes)
{
    const uint8_t *source = from;
    uintptr_t at = (uintptr_t)to, end = at + nb_of_bytes;
    while (at < end) {
        unsigned int space = 8 - (at & 7), left = end - at, n = space < left ? space : left;
        if (n == 8 && ((uintptr_t)source & 7) == 0) {
            n = left & ~7u;
            n = n > 2048 ? 2048 : n;
            mram_write(source, (__mram_ptr void *)at, n);
        } else {
            merge(source, at, n);
        }
        at += n;
        source += n;
    }
}

void mram_write_int_atomic(__mram_ptr int *to, int value)
{
    mram_write_unaligned(&value, to, sizeof value);
}

void mram_write_long_atomic(__mram_ptr long *to, long value)
{
    mram_write_unaligned(&value, to, sizeof value);
}

static uint8_t *open_word(const __mram_ptr void *address, uint8_t *word)
{
    uintptr_t at = (uintptr_t)address;
    ATOMIC_BIT_ACQUIRE(xtc_mram);
    mram_read((const __mram_ptr void *)(at & ~(uintptr_t)7), word, 8);
    return word + (at & 7);
}

static void close_word(__mram_ptr void *address, const uint8_t *word)
{
    mram_write(word, (__mram_ptr void *)((uintptr_t)address & ~(uintptr_t)7), 8);
    ATOMIC_BIT_RELEASE(xtc_mram);
}

void mram_update_int_atomic(__mram_ptr int *to, void (*update)(int *, void *), void *argument)
{
    __dma_aligned uint8_t word[8];
    update((int *)open_word(to, word), argument);
    close_word(to, word);
}

void mram_update_long_atomic(__mram_ptr long *to, void (*update)(long *, void *), void *argument)
{
    __dma_aligned uint8_t word[8];
    update((long *)open_word(to, word), argument);
    close_word(to, word);
}

void mram_update_byte_atomic(__mram_ptr uint8_t *to, void (*update)(uint8_t *, void *),
                             void *argument)
{
    __dma_aligned uint8_t word[8];
    update(open_word(to, word), argument);
    close_word(to, word);
}
