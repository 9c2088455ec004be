/* SPDX-License-Identifier: Apache-2.0 */
/* A buddy allocator (Knowlton: A fast storage allocator, 1965). One byte per smallest block
 * describes the block that begins there: free or used, and its order; or none. */
#include <alloc.h>
#include <atomic_bit.h>
#include <stdint.h>
#include <string.h>

#define SMALLEST 32
#define USED 0x80
#define NOTHING 0x7f

static uint8_t *memory, *tags;
static uint32_t orders; /* the whole memory is one block of order `orders` */

ATOMIC_BIT_INIT(xtc_buddy);

void buddy_init(size_t size_in_bytes)
{
    uint32_t order = 0;
    while ((SMALLEST << (order + 1)) <= (int)size_in_bytes)
        order++;
    memory = mem_alloc(SMALLEST << order);
    tags = mem_alloc(1u << order);
    memset(tags, NOTHING, 1u << order);
    tags[0] = (uint8_t)order;
    orders = order;
}

static uint32_t order_of(size_t size)
{
    uint32_t order = 0;
    while ((uint32_t)SMALLEST << order < size)
        order++;
    return order;
}

/* The first of the smallest free blocks of at least this order; -1 if there is none. */
static int find_free(uint32_t order)
{
    int best = -1;
    for (uint32_t i = 0; i < 1u << orders; i += 1u << (tags[i] & ~USED)) {
        if (!(tags[i] & USED) && tags[i] >= order && (best < 0 || tags[i] < tags[best]))
            best = (int)i;
    }
    return best;
}

static void *take(uint32_t order)
{
    int index = find_free(order);
    if (index < 0)
        return NULL;
    while (tags[index] > order) {
        tags[index]--;
        tags[index + (1 << tags[index])] = tags[index];
    }
    tags[index] |= USED;
    return memory + index * SMALLEST;
}

void *buddy_alloc(size_t size)
{
    if (!memory || size == 0)
        return NULL;
    ATOMIC_BIT_ACQUIRE(xtc_buddy);
    void *block = take(order_of(size));
    ATOMIC_BIT_RELEASE(xtc_buddy);
    return block;
}

static uint32_t index_of(const void *pointer)
{
    return (uint32_t)((const uint8_t *)pointer - memory) / SMALLEST;
}

void buddy_free(void *pointer)
{
    if (!pointer)
        return;
    ATOMIC_BIT_ACQUIRE(xtc_buddy);
    uint32_t index = index_of(pointer);
    tags[index] &= (uint8_t)~USED;
    while (tags[index] < orders && tags[index ^ 1u << tags[index]] == tags[index]) {
        uint32_t buddy = index ^ 1u << tags[index];
        uint32_t first = index < buddy ? index : buddy, second = index ^ buddy ^ first;
        tags[second] = NOTHING;
        tags[first]++;
        index = first;
    }
    ATOMIC_BIT_RELEASE(xtc_buddy);
}

void *buddy_realloc(void *pointer, size_t size)
{
    if (!pointer)
        return buddy_alloc(size);
    if (size == 0) {
        buddy_free(pointer);
        return NULL;
    }
    size_t old_size = (size_t)SMALLEST << (tags[index_of(pointer)] & ~USED);
    if (order_of(size) == (uint32_t)(tags[index_of(pointer)] & ~USED))
        return pointer;
    void *moved = buddy_alloc(size);
    if (moved) {
        memcpy(moved, pointer, old_size < size ? old_size : size);
        buddy_free(pointer);
    }
    return moved;
}
