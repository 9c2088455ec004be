// SPDX-License-Identifier: Apache-2.0
// Loads images, which are RISC-V ELF files.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_device.h"
#include "sim_image.h"
#include "sim_poison.h"
#include "upmem_block.h"
#include "upmem_program.h"
#include "xtc_error.h"

static upmem_program *programs;

static void free_program(upmem_program *program)
{
    free((void *)program->elf.bytes);
    free(program->code.code);
    free(program->code.issued);
    free(program->code.stalled);
    free(program->lines);
    free(program);
}

static uint32_t value_of(const upmem_elf *elf, const char *name, uint32_t otherwise)
{
    upmem_symbol symbol;
    return upmem_elf_find_symbol(elf, name, &symbol) ? symbol.address : otherwise;
}

static const char *read_layout(upmem_program *program)
{
    dpu_program *code = &program->code;
    char name[40];
    code->tasklets = value_of(&program->elf, "NR_TASKLETS", 0);
    code->heap = value_of(&program->elf, "__sys_heap_pointer_reset", 0);
    if (code->tasklets < 1 || code->tasklets > DPU_MAX_TASKLETS || !code->heap)
        return "the program was not linked for DPUs";
    for (uint32_t i = 0; i < code->tasklets; i++) {
        snprintf(name, sizeof name, "__sys_stack_thread_%u", i);
        code->stack[i] = value_of(&program->elf, name, 0);
    }
    snprintf(name, sizeof name, "__sys_stack_thread_%u", code->tasklets);
    code->stack[code->tasklets] = value_of(&program->elf, name, code->heap) & ~7u;
    return NULL;
}

static const char *read_code(upmem_program *program, bool profiles)
{
    upmem_section section;
    for (uint32_t i = 0; upmem_elf_section(&program->elf, i, &section); i++) {
        if (!upmem_section_is_code(&section))
            continue;
        uint32_t count = section.nbytes / 4;
        uint32_t *words = malloc(section.nbytes + 4);
        bool decoded = words && (memcpy(words, program->elf.bytes + section.offset, section.nbytes),
                                 dpu_decode(&program->code, words, count));
        free(words);
        if (decoded && profiles) {
            program->code.issued = calloc(count, sizeof(uint64_t));
            program->code.stalled = calloc(count, sizeof(uint64_t));
        }
        return decoded ? NULL : "out of memory";
    }
    return "the program has no code";
}

static int32_t load(const void *image, uint64_t nbytes, uint64_t *module)
{
    const upmem_block *block = sim_device_block();
    upmem_program *program = calloc(1, sizeof *program);
    void *bytes = malloc(nbytes);
    if (!program || !bytes)
        sim_give_up("no memory for a program");
    memcpy(bytes, image, nbytes);
    const char *wrong = upmem_elf_open(&program->elf, bytes, (uint32_t)nbytes);
    if (!wrong)
        wrong = read_layout(program);
    if (!wrong)
        wrong = read_code(program, block->profiles);
    if (wrong) {
        program->elf.bytes = bytes;
        free_program(program);
        return xtc_fail(XTC_IMAGE, "%s", wrong);
    }
    program->next = programs;
    programs = program;
    *module = (uintptr_t)program;
    return XTC_OK;
}

upmem_program *upmem_program_of(uint64_t handle)
{
    upmem_program *program = programs;
    while (program && (uintptr_t)program != handle)
        program = program->next;
    return program;
}

static int32_t unload(uint64_t module)
{
    upmem_block *block = sim_device_block();
    upmem_program **link = &programs;
    while (*link && (uintptr_t)*link != module)
        link = &(*link)->next;
    upmem_program *program = *link;
    if (!program)
        return xtc_fail(XTC_LAUNCH, "the program is not loaded");
    for (uint32_t i = 0; i < block->dpus; i++)
        if (block->dpu[i].program == (uintptr_t)program)
            block->dpu[i].program = 0;
    *link = program->next;
    free_program(program);
    return XTC_OK;
}

// A program has a single entry; requests select the operation.
static int32_t function(uint64_t module, const char *name, uint64_t *address)
{
    (void)module;
    (void)address;
    return xtc_fail(XTC_LAUNCH, "a program has no function '%s' to be started", name);
}

static int32_t data(uint64_t module, const char *name, uint64_t *address, uint64_t *nbytes)
{
    const upmem_program *program = upmem_program_of(module);
    upmem_symbol symbol;
    if (!program || !upmem_elf_find_symbol(&program->elf, name, &symbol))
        return xtc_fail(XTC_LAUNCH, "the program has no variable '%s'", name);
    *address = symbol.address;
    *nbytes = symbol.nbytes;
    return XTC_OK;
}

static const char *function_name(uint64_t operation)
{
    static const char *const names[] = {[UPMEM_ASSIGN] = "assign", [UPMEM_BOOT] = "boot",
                                        [UPMEM_RUN] = "run", [UPMEM_TAKE_LOG] = "log",
                                        [UPMEM_PROFILE] = "profile"};
    return operation < sizeof names / sizeof *names ? names[operation] : NULL;
}

// Variables are in the memories of each DPU, which the host accesses directly.
static void *view(uint64_t address, uint64_t nbytes)
{
    (void)address;
    (void)nbytes;
    return NULL;
}

const sim_loader upmem_loader = {.load = load, .unload = unload, .function = function,
                                 .data = data, .function_name = function_name, .view = view};

// The address of a section in a DPU's memories; NULL if it is in neither.
static uint8_t *memory_of(const upmem_section *section, const dpu_profile *profile, dpu *dpu)
{
    uint32_t offset = section->address - DPU_MRAM_BASE;
    if (section->address <= profile->wram_bytes &&
        section->nbytes <= profile->wram_bytes - section->address)
        return dpu->wram + section->address;
    if (offset <= DPU_MRAM_BYTES && section->nbytes <= DPU_MRAM_BYTES - offset)
        return dpu->mram + offset;
    return NULL;
}

void upmem_program_write(const upmem_program *program, const dpu_profile *profile, dpu *dpu)
{
    upmem_section section;
    sim_poison(dpu->wram, profile->wram_bytes);
    for (uint32_t i = 0; upmem_elf_section(&program->elf, i, &section); i++) {
        uint8_t *memory = memory_of(&section, profile, dpu);
        if (!memory || upmem_section_is_code(&section))
            continue;
        if (upmem_section_is_loaded(&section))
            memcpy(memory, program->elf.bytes + section.offset, section.nbytes);
        else if (upmem_section_is_zero(&section))
            memset(memory, 0, section.nbytes);
    }
}

upmem_line upmem_program_line(upmem_program *program, uint32_t pc)
{
    uint32_t index = (pc - DPU_IRAM_BASE) / 4, count = program->code.length;
    if (!program->lines) {
        program->lines = calloc(count, sizeof *program->lines);
        if (program->lines)
            upmem_lines_read(&program->elf, DPU_IRAM_BASE, program->lines, count);
    }
    return program->lines && index < count ? program->lines[index] : (upmem_line){NULL, 0};
}
