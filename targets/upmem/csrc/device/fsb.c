/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of one size: the free ones form a list, through their first words. */
#include <alloc.h>
#include <atomic_bit.h>
#include <stdint.h>

ATOMIC_BIT_INIT(xtc_fsb);

fsb_allocator_t fsb_alloc(unsigned int block_size, unsigned int nb_of_blocks)
{
    block_size = (block_size + 7) & ~7u;
    uint8_t *memory = mem_alloc(8 + block_size * nb_of_blocks);
    fsb_allocator_t allocator = (fsb_allocator_t)memory;
    *allocator = NULL;
    for (unsigned int i = nb_of_blocks; i-- > 0;)
        fsb_free(allocator, memory + 8 + i * block_size);
    return allocator;
}

void *fsb_get(fsb_allocator_t allocator)
{
    ATOMIC_BIT_ACQUIRE(xtc_fsb);
    void **block = *allocator;
    if (block)
        *allocator = *block;
    ATOMIC_BIT_RELEASE(xtc_fsb);
    return block;
}

void fsb_free(fsb_allocator_t allocator, void *block)
{
    ATOMIC_BIT_ACQUIRE(xtc_fsb);
    *(void **)block = *allocator;
    *allocator = block;
    ATOMIC_BIT_RELEASE(xtc_fsb);
}
