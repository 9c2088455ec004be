// SPDX-License-Identifier: Apache-2.0
// Finding programs by name, loading them into the simulator and onto DPUs, and their symbols.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib.h"
#include "xtc_error.h"

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// The file of a program in the list of lines "name=path"; to be freed by the caller.
static char *listed(const char *name)
{
    for (const char *at = lib_setting("XTC_UPMEM_PROGRAMS"); at && *at;) {
        size_t length = strcspn(at, "\n");
        const char *equals = memchr(at, '=', length);
        if (equals && strlen(name) == (size_t)(equals - at) &&
            !strncmp(at, name, (size_t)(equals - at)))
            return strndup(equals + 1, length - (size_t)(equals + 1 - at));
        at += length + (at[length] == '\n');
    }
    return NULL;
}

static char *path_of(const char *name)
{
    char *found = listed(name);
    if (!found)
        found = listed(last_part(name));
    return found ? found : strdup(name);
}

static void *read_file(const char *path, size_t *nbytes)
{
    FILE *file = fopen(path, "rb");
    void *bytes = NULL;
    long length = -1;
    if (file && !fseek(file, 0, SEEK_END) && (length = ftell(file)) > 0) {
        rewind(file);
        bytes = malloc((size_t)length);
        if (bytes && fread(bytes, 1, (size_t)length, file) != (size_t)length) {
            free(bytes);
            bytes = NULL;
        }
    }
    if (file)
        fclose(file);
    *nbytes = bytes ? (size_t)length : 0;
    return bytes;
}

void lib_close_program(struct dpu_program_t *program)
{
    free(program->name);
    free(program->bytes);
    free(program);
}

void lib_free_programs(lib_machine *machine)
{
    while (machine->programs) {
        struct dpu_program_t *program = machine->programs;
        machine->programs = program->next;
        lib_report_lines(machine, program);
        lib_close_program(program);
    }
}

static dpu_error_t refuse(const char *name, const char *why)
{
    fprintf(stderr, "xtc upmem: the program '%s' cannot be loaded: %s\n", name, why);
    return DPU_ERR_ELF_INVALID_FILE;
}

static dpu_error_t open_program(const char *name, void *bytes, size_t nbytes,
                                struct dpu_program_t **opened)
{
    struct dpu_program_t *program = calloc(1, sizeof *program);
    if (!program) {
        free(bytes);
        return DPU_ERR_SYSTEM;
    }
    program->name = strdup(name);
    program->bytes = bytes;
    const char *wrong = upmem_elf_open(&program->elf, bytes, (uint32_t)nbytes);
    upmem_symbol tasklets = {0, 0};
    if (!wrong && !upmem_elf_find_symbol(&program->elf, "NR_TASKLETS", &tasklets))
        wrong = "it was not linked for DPUs";
    if (wrong) {
        dpu_error_t status = refuse(name, wrong);
        lib_close_program(program);
        return status;
    }
    program->tasklets = tasklets.address;
    *opened = program;
    return DPU_OK;
}

// Without a profile, programs with more tasklets than a v1B has run on a v1A.
static dpu_error_t check_machine(lib_machine *machine, const struct dpu_program_t *program)
{
    dpu_profile *profile = &machine->block->profile;
    if (program->tasklets > profile->tasklets && !machine->profile_is_given)
        *profile = *lib_profile("v1A", 3);
    if (program->tasklets > profile->tasklets)
        return DPU_ERR_TOO_MANY_TASKLETS;
    upmem_section text;
    upmem_symbol heap;
    if (upmem_elf_find_section(&program->elf, ".text", &text) &&
        text.nbytes / 4 > profile->iram_instructions) {
        fprintf(stderr, "xtc upmem: the program '%s' has %u RISC-V instructions, but instruction "
                "memory has space for %u\n",
                program->name, text.nbytes / 4, profile->iram_instructions);
        return DPU_ERR_INVALID_IRAM_ACCESS;
    }
    if (upmem_elf_find_symbol(&program->elf, "__sys_heap_pointer_reset", &heap) &&
        heap.address > profile->wram_bytes) {
        fprintf(stderr, "xtc upmem: the data and stacks of the program '%s' have %u bytes, WRAM "
                "has %u\n", program->name, heap.address, profile->wram_bytes);
        return DPU_ERR_INVALID_WRAM_ACCESS;
    }
    return DPU_OK;
}

static dpu_error_t run_load(lib_job *job)
{
    lib_machine *machine = job->machine;
    struct dpu_program_t *program = job->data;
    dpu_error_t status = lib_take_ranks(job);
    if (status == DPU_OK)
        status = check_machine(machine, program);
    if (status != DPU_OK)
        return status;
    int32_t loaded =
        sim_host_load(&machine->sim, program->bytes, program->elf.nbytes, &program->handle);
    if (loaded) {
        refuse(program->name, xtc_message());
        return loaded == XTC_LOST ? DPU_ERR_DRIVER : DPU_ERR_ELF_INVALID_FILE;
    }
    lib_select_none(machine);
    for (uint32_t i = 0; i < job->count; i++) {
        job->targets[i].dpu->program = program;
        machine->block->dpu[job->targets[i].dpu->number].selected = 1;
    }
    return lib_request(machine, UPMEM_ASSIGN, program->handle);
}

static dpu_error_t load(struct dpu_set_t set, struct dpu_program_t *program)
{
    lib_machine *machine = lib_machine_of(set);
    lib_job *job = machine ? lib_new_job(machine, LIB_LOAD, lib_dpu_count(set)) : NULL;
    if (!job) {
        lib_close_program(program);
        return machine ? DPU_ERR_SYSTEM : DPU_ERR_INVALID_DPU_SET;
    }
    for (uint32_t i = 0; i < job->count; i++)
        job->targets[i].dpu = lib_dpu_at(set, i);
    job->run = run_load;
    job->data = program;
    // Kept until the allocation is freed, because symbols and reports refer to it.
    program->next = machine->programs;
    machine->programs = program;
    return lib_give(job);
}

dpu_error_t dpu_load(struct dpu_set_t dpu_set, const char *binary_path,
                     struct dpu_program_t **program)
{
    size_t nbytes;
    struct dpu_program_t *opened;
    char *path = path_of(binary_path);
    void *bytes = path ? read_file(path, &nbytes) : NULL;
    if (!bytes)
        fprintf(stderr, "xtc upmem: the program '%s' cannot be read: %s\n", path, strerror(errno));
    free(path);
    if (!bytes)
        return DPU_ERR_ELF_NO_SUCH_FILE;
    dpu_error_t status = open_program(binary_path, bytes, nbytes, &opened);
    if (status == DPU_OK)
        status = load(dpu_set, opened);
    if (status == DPU_OK && program)
        *program = opened;
    return status;
}

dpu_error_t dpu_load_from_memory(struct dpu_set_t dpu_set, uint8_t *buffer, size_t buffer_size,
                                 struct dpu_program_t **program)
{
    struct dpu_program_t *opened;
    void *bytes = malloc(buffer_size ? buffer_size : 1);
    if (!bytes)
        return DPU_ERR_SYSTEM;
    memcpy(bytes, buffer, buffer_size);
    dpu_error_t status = open_program("(memory)", bytes, buffer_size, &opened);
    if (status == DPU_OK)
        status = load(dpu_set, opened);
    if (status == DPU_OK && program)
        *program = opened;
    return status;
}

dpu_error_t dpu_load_from_incbin(struct dpu_set_t dpu_set, struct dpu_incbin_t *incbin,
                                 struct dpu_program_t **program)
{
    return dpu_load_from_memory(dpu_set, incbin->buffer, incbin->size, program);
}

dpu_error_t dpu_get_symbol(struct dpu_program_t *program, const char *symbol_name,
                           struct dpu_symbol_t *symbol)
{
    upmem_symbol found;
    if (!program)
        return DPU_ERR_NO_PROGRAM_LOADED;
    if (!upmem_elf_find_symbol(&program->elf, symbol_name, &found))
        return DPU_ERR_UNKNOWN_SYMBOL;
    symbol->address = found.address;
    symbol->size = found.nbytes;
    if (!strcmp(symbol_name, DPU_MRAM_HEAP_POINTER_NAME))
        symbol->size = DPU_MRAM_BASE + DPU_MRAM_BYTES - found.address;
    return DPU_OK;
}

dpu_error_t lib_find_symbol(struct dpu_set_t set, const char *name, struct dpu_symbol_t *symbol)
{
    uint32_t count = lib_dpu_count(set);
    if (!count)
        return DPU_ERR_INVALID_DPU_SET;
    struct dpu_program_t *program = lib_dpu_at(set, 0)->program;
    for (uint32_t i = 0; i < count; i++) {
        if (!lib_dpu_at(set, i)->program)
            return DPU_ERR_NO_PROGRAM_LOADED;
        if (lib_dpu_at(set, i)->program != program)
            return DPU_ERR_DIFFERENT_DPU_PROGRAMS;
    }
    return dpu_get_symbol(program, name, symbol);
}
