// SPDX-License-Identifier: Apache-2.0
// A simulated machine whose images are texts: "name number", of which the function `name` adds the
// number, data of the image, to an int64. Built twice: the simulator, and with DRIVER the driver.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    unsigned long long nbytes; // of this structure
    const char *executable;
} counting_config;

#define MEMORY_ADDRESS 0x300000000000ull
#define MEMORY_BYTES (1ull << 20)

#ifdef DRIVER

#include "sim_driver.h"

static int32_t configure(const void *given, sim_options *options, const char **executable)
{
    const counting_config *config = given;
    if (xtc_device_check_config(config, sizeof *config))
        return XTC_USAGE;
    *options = (sim_options){.timeout_s = 5,
                             .memory_address = MEMORY_ADDRESS,
                             .memory_bytes = MEMORY_BYTES,
                             .block_bytes = 64};
    *executable = config->executable;
    return XTC_OK;
}

static void fill(const void *config, void *block)
{
    (void)config, (void)block;
}

static sim_counter_names *names(const void *block)
{
    (void)block;
    return calloc(1, sizeof(sim_counter_names));
}

static void values(const void *block, const xtc_copies *copies, uint64_t *written)
{
    (void)block, (void)copies, (void)written;
}

const sim_driver_target sim_driver_target_ops = {
    .configure = configure, .fill = fill, .names = names, .values = values};

#else

#include "sim_device.h"
#include "xtc_error.h"

typedef struct {
    char name[32];
    int64_t number;
} module;

static module *loaded; // one at a time

static int32_t load(const void *image, uint64_t nbytes, uint64_t *number)
{
    module *read = calloc(1, sizeof *read);
    char text[64];
    long long value;
    snprintf(text, sizeof text, "%.*s", (int)nbytes, (const char *)image);
    if (loaded || sscanf(text, "%31s %lld", read->name, &value) != 2) {
        free(read);
        return xtc_fail(XTC_IMAGE, "'%.20s' is not a name with a number", text);
    }
    read->number = value;
    loaded = read;
    *number = (uintptr_t)read;
    return XTC_OK;
}

static int32_t unload(uint64_t number)
{
    (void)number;
    free(loaded);
    loaded = NULL;
    return XTC_OK;
}

static int32_t function(uint64_t number, const char *name, uint64_t *found)
{
    if (strcmp(name, loaded->name))
        return xtc_fail(XTC_LAUNCH, "the module has no function '%.400s'", name);
    *found = number;
    return XTC_OK;
}

static int32_t data(uint64_t number, const char *name, uint64_t *address, uint64_t *nbytes)
{
    (void)number;
    if (strcmp(name, "number"))
        return xtc_fail(XTC_LAUNCH, "the module has no data '%.400s'", name);
    *address = 16; // of a separate memory of the machine
    *nbytes = sizeof loaded->number;
    return XTC_OK;
}

static const char *function_name(uint64_t found)
{
    return found == (uintptr_t)loaded ? loaded->name : NULL;
}

static void *view(uint64_t address, uint64_t nbytes)
{
    bool inside = address >= 16 && address + nbytes <= 16 + sizeof loaded->number;
    return inside ? (char *)&loaded->number + (address - 16) : NULL;
}

static void launch(uint64_t found, const char *name, const xtc_launch *given)
{
    (void)found, (void)name;
    uint64_t outside;
    if (given->count != 1 || given->types[0] != XTC_ADDRESS)
        sim_fault(0, "it takes an address");
    if (!sim_device_is_allocated(given->arguments[0], 8, &outside))
        sim_fault(outside, "an addition outside an allocation");
    *(int64_t *)given->arguments[0] += loaded->number;
}

static void where(sim_text *text)
{
    (void)text;
}

int main(void)
{
    static const sim_loader loader = {load, unload, function, data, function_name, view};
    static const sim_device_ops ops = {.launch = launch, .loader = &loader, .where = where};
    sim_device_attach(&ops);
    sim_device_serve();
}

#endif
