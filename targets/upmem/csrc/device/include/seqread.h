/* SPDX-License-Identifier: Apache-2.0 */
/* Sequential reading of MRAM through a buffer of two pages in WRAM. */
#ifndef DPU_SEQREAD_H
#define DPU_SEQREAD_H

#include <attributes.h>
#include <mram.h>
#include <stdint.h>

#ifndef SEQREAD_CACHE_SIZE
#define SEQREAD_CACHE_SIZE 256
#endif

typedef uintptr_t seqreader_buffer_t;

typedef struct {
    seqreader_buffer_t wram_cache;
    uintptr_t mram_addr; /* of the first page in the buffer */
} seqreader_t;

seqreader_buffer_t xtc_seqread_alloc(unsigned int page);
void *xtc_seqread_init(seqreader_buffer_t cache, const __mram_ptr void *address,
                       seqreader_t *reader, unsigned int page);
void *xtc_seqread_next(void *pointer, seqreader_t *reader, unsigned int page);

/* A buffer for one reader, from the heap. */
XTC_INLINE seqreader_buffer_t seqread_alloc(void)
{
    return xtc_seqread_alloc(SEQREAD_CACHE_SIZE);
}

/* Start at an address; returns the address of the element in WRAM. */
XTC_INLINE void *seqread_init(seqreader_buffer_t cache, const __mram_ptr void *mram_addr,
                                 seqreader_t *reader)
{
    return xtc_seqread_init(cache, mram_addr, reader, SEQREAD_CACHE_SIZE);
}

/* The element `inc` bytes after the one at `ptr`; inc is at most SEQREAD_CACHE_SIZE. */
XTC_INLINE void *seqread_get(void *ptr, uint32_t inc, seqreader_t *reader)
{
    uintptr_t next = (uintptr_t)ptr + inc;
    if (next - reader->wram_cache < SEQREAD_CACHE_SIZE)
        return (void *)next;
    return xtc_seqread_next((void *)next, reader, SEQREAD_CACHE_SIZE);
}

XTC_INLINE void *seqread_seek(const __mram_ptr void *mram_addr, seqreader_t *reader)
{
    return xtc_seqread_init(reader->wram_cache, mram_addr, reader, SEQREAD_CACHE_SIZE);
}

/* The MRAM address of the element at `ptr`. */
XTC_INLINE __mram_ptr void *seqread_tell(void *ptr, seqreader_t *reader)
{
    return (__mram_ptr void *)(reader->mram_addr + ((uintptr_t)ptr - reader->wram_cache));
}

#endif
