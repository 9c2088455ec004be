/* SPDX-License-Identifier: Apache-2.0 */
/* malloc and free in a part of the heap. */
#ifndef DPU_BUDDY_ALLOC_H
#define DPU_BUDDY_ALLOC_H

#include <stddef.h>

/* Take `size_in_bytes`, a power of two, from the heap. */
void buddy_init(size_t size_in_bytes);
/* Memory aligned to 8 bytes, or NULL if there is none; a block has at least 32 bytes. */
void *buddy_alloc(size_t size);
void buddy_free(void *pointer);
void *buddy_realloc(void *pointer, size_t size);

#endif
