// SPDX-License-Identifier: Apache-2.0
// The order in which things run that run at the same time on the machine.
#include "mppa_sim.h"

static uint64_t state;

void mppa_order_init(void)
{
    state = mppa->machine.seed;
}

// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
static uint64_t next_random(void)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

void mppa_order(uint32_t *numbers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        numbers[i] = i;
    if (!mppa->machine.shuffled)
        return;
    for (uint32_t i = count; i > 1; i--) { // Fisher and Yates
        uint32_t j = (uint32_t)(next_random() % i), swapped = numbers[i - 1];
        numbers[i - 1] = numbers[j];
        numbers[j] = swapped;
    }
}
