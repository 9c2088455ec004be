// SPDX-License-Identifier: Apache-2.0
// Host code as a compiler would generate it: commands in a row, whose statuses nobody looks at.
#include "xtc_driver.h"

const char *const xtc_device_names[] = {"mppa0", "mppa1", NULL};
xtc_binding xtc_bindings[2];

#define ROWS 80
#define SIZE 64

static xtc_address allocated(const xtc_binding *on, uint64_t nbytes)
{
    xtc_address address;
    on->driver->alloc(on->device, on->queue, nbytes, &address);
    return address;
}

static xtc_function found(const xtc_binding *on, const char *name)
{
    xtc_function function;
    on->driver->symbol(on->device, on->module, name, &function);
    return function;
}

// c = a b on the first device.
void product(const float *a, const float *b, float *c)
{
    const xtc_binding *on = &xtc_bindings[0];
    const xtc_driver *driver = on->driver;
    uint64_t rows = ROWS * SIZE * sizeof *a, square = SIZE * SIZE * sizeof *b;
    uint64_t words[3] = {allocated(on, rows), allocated(on, square), allocated(on, rows)};
    driver->copy_to(on->device, on->queue, words[0], a, rows, 0, NULL);
    driver->copy_to(on->device, on->queue, words[1], b, square, 0, NULL);
    driver->launch(on->device, on->queue, found(on, "matmul"), words, 3, NULL);
    driver->copy_from(on->device, on->queue, c, words[2], rows, 0, NULL);
    driver->wait(on->device, on->queue, 0);
    for (int i = 0; i < 3; i++)
        driver->free(on->device, words[i]);
}

// value = value * 10 + 1 on the first device, whose result the second one multiplies by 100.
void relay(int64_t *value)
{
    const xtc_binding *one = &xtc_bindings[0], *two = &xtc_bindings[1];
    uint64_t first[2] = {allocated(one, 8), 10}, second[2] = {allocated(two, 8), 100};
    xtc_event there;
    one->driver->copy_to(one->device, one->queue, first[0], value, 8, 0, NULL);
    one->driver->launch(one->device, one->queue, found(one, "step"), first, 2, NULL);
    one->driver->copy_from(one->device, one->queue, value, first[0], 8, 0, &there);
    two->driver->after(two->device, two->queue, one->driver, one->device, one->queue, there, NULL);
    two->driver->copy_to(two->device, two->queue, second[0], value, 8, 0, NULL);
    two->driver->launch(two->device, two->queue, found(two, "step"), second, 2, NULL);
    two->driver->copy_from(two->device, two->queue, value, second[0], 8, 0, NULL);
    two->driver->wait(two->device, two->queue, 0);
    one->driver->free(one->device, first[0]);
    two->driver->free(two->device, second[0]);
}

// Asks for more memory than there is when `value` is 1, makes a kernel fault when it is 2.
void fails(int64_t *value)
{
    const xtc_binding *on = &xtc_bindings[0];
    uint64_t words[2] = {allocated(on, *value == 1 ? 1ull << 50 : 8), 0};
    on->driver->copy_to(on->device, on->queue, words[0], value, 8, 0, NULL);
    if (*value == 2)
        on->driver->launch(on->device, on->queue, found(on, "faults"), words, 2, NULL);
    on->driver->copy_from(on->device, on->queue, value, words[0], 8, 0, NULL);
    on->driver->wait(on->device, on->queue, 0);
    on->driver->free(on->device, words[0]);
}
