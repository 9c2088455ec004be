// SPDX-License-Identifier: Apache-2.0
#include "sim_order.h"

static bool is_shuffled;
static uint64_t state;

void sim_order_init(bool shuffled, uint64_t seed)
{
    is_shuffled = shuffled;
    state = seed;
}

// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
static uint64_t random_below(uint64_t limit)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (z ^ z >> 31) % limit;
}

void sim_order(uint32_t *numbers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        numbers[i] = i;
    if (!is_shuffled)
        return;
    for (uint32_t i = count; i > 1; i--) { // Fisher-Yates shuffle
        uint32_t j = (uint32_t)random_below(i), swapped = numbers[i - 1];
        numbers[i - 1] = numbers[j];
        numbers[j] = swapped;
    }
}
