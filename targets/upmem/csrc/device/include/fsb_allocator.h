/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of one size. */
#ifndef DPU_FSB_ALLOCATOR_H
#define DPU_FSB_ALLOCATOR_H

#include <stddef.h>

typedef void **fsb_allocator_t;

/* Room for `nb_of_blocks` blocks, from the heap. */
fsb_allocator_t fsb_alloc(unsigned int block_size, unsigned int nb_of_blocks);
/* A block, or NULL if none is left. */
void *fsb_get(fsb_allocator_t allocator);
void fsb_free(fsb_allocator_t allocator, void *block);

#endif
