// SPDX-License-Identifier: Apache-2.0
// Device code for the stand-in driver: a kernel gets its parameters' addresses.
#include <stdint.h>
#include <string.h>

typedef struct {
    uint32_t grid[3], block[3], shared_bytes, parameters;
} shape;

const shape scale_launch = {{4, 2, 1}, {64, 1, 1}, 0, 3};

// values[i] *= factor for i < count.
void scale(void **parameters)
{
    int32_t *values = *(int32_t **)parameters[0];
    for (int64_t i = 0; i < *(int64_t *)parameters[1]; i++)
        values[i] *= (int32_t)*(int64_t *)parameters[2];
}

const shape shared_launch = {{1, 1, 1}, {32, 4, 1}, 100000, 0};

void shared(void **parameters)
{
    (void)parameters;
}

// A launch creates a tensor map of the first argument's memory from byte 32 on: 40 rows of 24
// numbers of 16 bits, of which 16 are copied at a time.
const struct {
    shape known;
    uint32_t maps;
} mapped_launch = {{{1, 1, 1}, {32, 1, 1}, 0, 2}, 1};
const uint64_t mapped_maps[20] = {[0] = 1, 6, 2, 2, 32, 32, [6] = 24, 40, [11] = 48, [15] = 16, 8};

// Its bytes, which encode the parameters of the driver's function, are stored to the first
// argument.
void mapped(void **parameters)
{
    memcpy(*(void **)parameters[0], parameters[2], 128);
}

const uint32_t odd_launch[7] = {1};

void odd(void **parameters)
{
    (void)parameters;
}

const shape wide_launch = {{1, 1, 1}, {1, 1, 1}, 0, 65};

void wide(void **parameters)
{
    (void)parameters;
}

const shape crowded_launch = {{1, 1, 1}, {1024, 2, 1}, 0, 0};

void crowded(void **parameters)
{
    (void)parameters;
}

const shape greedy_launch = {{1, 1, 1}, {32, 1, 1}, 232400, 0};

void greedy(void **parameters)
{
    (void)parameters;
}

void shapeless(void **parameters)
{
    (void)parameters;
}
