// SPDX-License-Identifier: Apache-2.0
// Starting the simulator, and sending it requests.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib.h"
#include "xtc_error.h"

#define SECONDS_OF_A_REQUEST 86400.0 // programs are limited by instructions instead

static const struct {
    const char *name;
    dpu_profile profile;
} profiles[] = {
    // UPMEM's documentation, "Programming with UPMEM DPUs".
    {"v1A", {65536, 4096, 24, 56, 350000000}},
    {"v1B", {63488, 3968, 16, 64, 400000000}},
};

const dpu_profile *lib_profile(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof profiles / sizeof *profiles; i++)
        if (strlen(profiles[i].name) == length && !strncmp(profiles[i].name, name, length))
            return &profiles[i].profile;
    return NULL;
}

bool lib_is_v1b(const lib_machine *machine)
{
    return machine->block->profile.tasklets == profiles[1].profile.tasklets;
}

static uint64_t number_setting(const char *name, uint64_t otherwise)
{
    const char *text = lib_setting(name);
    return text ? strtoull(text, NULL, 0) : otherwise;
}

static uint32_t cores(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    return (uint32_t)number_setting("XTC_UPMEM_THREADS", (uint64_t)count);
}

// "chip=v1A,other=value"; keys of other platforms have no effect.
static dpu_error_t choose_profile(lib_machine *machine, const char *text)
{
    const char *setting = lib_setting("XTC_UPMEM_PROFILE");
    const dpu_profile *found = lib_profile("v1B", 3);
    if (setting) {
        found = lib_profile(setting, strlen(setting));
        machine->profile_is_given = true;
    }
    for (const char *at = text; at && *at;) {
        size_t length = strcspn(at, ",");
        const char *equals = memchr(at, '=', length);
        if (!equals || equals == at)
            return DPU_ERR_INVALID_PROFILE;
        if (!strncmp(at, "chip=", 5)) {
            found = lib_profile(at + 5, length - 5);
            machine->profile_is_given = true;
        }
        at += length + (at[length] == ',');
    }
    if (!found)
        return DPU_ERR_INVALID_PROFILE;
    machine->block->profile = *found;
    return DPU_OK;
}

static void fill_block(lib_machine *machine)
{
    upmem_block *block = machine->block;
    block->dpus = machine->count;
    block->threads = cores();
    block->profiles = lib_setting("XTC_UPMEM_LINES") != NULL;
    block->rules.strict = number_setting("XTC_UPMEM_STRICT", 0) != 0;
    block->rules.jitter = number_setting("XTC_UPMEM_SEED", 0);
    block->rules.limit = number_setting("XTC_UPMEM_LIMIT", 1000000000000u);
}

// The simulator is in the folder of this library.
static void simulator_path(char *path, size_t nbytes)
{
    Dl_info information;
    const char *file = dladdr((void *)&simulator_path, &information) ? information.dli_fname : "";
    const char *slash = strrchr(file, '/');
    int folder = slash ? (int)(slash - file) : 0;
    if (slash)
        snprintf(path, nbytes, "%.*s/upmem_sim", folder, file);
    else
        snprintf(path, nbytes, "./upmem_sim");
}

static dpu_error_t start(lib_machine *machine, const char *profile)
{
    char path[4096];
    sim_options options = {.timeout_s = SECONDS_OF_A_REQUEST,
                           .memory_address = UPMEM_MEMORY_ADDRESS,
                           .memory_bytes = machine->count * UPMEM_STRIDE,
                           .block_bytes = upmem_block_bytes(machine->count)};
    if (sim_host_open(&machine->sim, &options))
        return DPU_ERR_ALLOCATION;
    machine->block = sim_host_block(&machine->sim);
    fill_block(machine);
    dpu_error_t status = choose_profile(machine, profile);
    simulator_path(path, sizeof path);
    if (status == DPU_OK && sim_host_start(&machine->sim, path))
        status = DPU_ERR_ALLOCATION;
    if (status != DPU_OK) {
        if (status == DPU_ERR_ALLOCATION)
            fprintf(stderr, "xtc upmem: %s\n", xtc_message());
        sim_host_release(&machine->sim);
    }
    return status;
}

lib_machine *lib_machine_open(uint32_t dpus, const char *profile, dpu_error_t *status)
{
    lib_machine *machine = calloc(1, sizeof *machine);
    *status = DPU_ERR_ALLOCATION;
    if (!machine)
        return NULL;
    machine->count = dpus;
    *status = start(machine, profile);
    if (*status == DPU_OK)
        return machine;
    free(machine);
    return NULL;
}

void lib_machine_close(lib_machine *machine)
{
    sim_host_stop(&machine->sim);
    sim_host_release(&machine->sim);
    free(machine);
}

uint8_t *lib_memory(const struct dpu_t *dpu, uint32_t address)
{
    uint8_t *wram = sim_host_memory(&dpu->rank->machine->sim) + dpu->number * UPMEM_STRIDE;
    return lib_is_mram(address) ? wram + DPU_WRAM_ROOM + (address - DPU_MRAM_BASE) : wram + address;
}

void lib_select_none(lib_machine *machine)
{
    for (uint32_t i = 0; i < machine->count; i++)
        machine->block->dpu[i].selected = 0;
}

dpu_error_t lib_request(lib_machine *machine, enum upmem_operation operation, uint64_t argument)
{
    const uint8_t type = XTC_INT64;
    const xtc_launch request = {.count = 1, .arguments = &argument, .types = &type};
    if (!sim_host_start_kernel(&machine->sim, operation, &request) &&
        !sim_host_finish_kernel(&machine->sim))
        return DPU_OK;
    if (!machine->sim.stopped)
        fprintf(stderr, "xtc upmem: %s\n", xtc_message());
    return DPU_ERR_DRIVER;
}
