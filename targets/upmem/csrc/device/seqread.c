/* SPDX-License-Identifier: Apache-2.0 */
/* Sequential readers: the buffer holds the page of the current element and the next page. */
#include <alloc.h>
#include <seqread.h>

seqreader_buffer_t xtc_seqread_alloc(unsigned int page)
{
    uintptr_t memory = (uintptr_t)mem_alloc(2 * page);
    return memory;
}

static void fill(seqreader_t *reader, unsigned int page)
{
    mram_read((const __mram_ptr void *)reader->mram_addr, (void *)reader->wram_cache, 2 * page);
}

void *xtc_seqread_init(seqreader_buffer_t cache, const __mram_ptr void *address,
                       seqreader_t *reader, unsigned int page)
{
    uintptr_t at = (uintptr_t)address;
    reader->wram_cache = cache;
    reader->mram_addr = at & ~(uintptr_t)(page - 1);
    fill(reader, page);
    return (void *)(cache + (at - reader->mram_addr));
}

void *xtc_seqread_next(void *pointer, seqreader_t *reader, unsigned int page)
{
    uintptr_t offset = (uintptr_t)pointer - reader->wram_cache;
    reader->mram_addr += offset & ~(uintptr_t)(page - 1);
    fill(reader, page);
    return (void *)(reader->wram_cache + (offset & (page - 1)));
}
