// SPDX-License-Identifier: Apache-2.0
// Checkpoints: the program and the memories of one DPU, on the host.
#include <stdlib.h>
#include <string.h>

#include "dpu_checkpoint.h"
#include "lib.h"

static const char magic[8] = "DPUCTX1";

typedef struct {
    char magic[sizeof magic];
    uint32_t program_size, wram_size, mram_size, unused;
} header;

static uint64_t memory_bytes(const struct dpu_context_t *context)
{
    return (uint64_t)context->program_size + context->wram_size + context->mram_size;
}

static struct dpu_t *only_dpu(struct dpu_set_t set)
{
    return lib_machine_of(set) && lib_dpu_count(set) == 1 ? lib_dpu_at(set, 0) : NULL;
}

// Copies a whole memory, in the order of the DPU's jobs.
static dpu_error_t copy_memory(struct dpu_t *dpu, enum lib_kind kind, uint32_t address,
                               uint8_t *bytes, uint32_t nbytes)
{
    if (!nbytes)
        return DPU_OK;
    lib_job *job = lib_new_job(dpu->rank->machine, kind, 1);
    if (!job)
        return DPU_ERR_SYSTEM;
    job->run = lib_run_copy;
    job->address = address;
    job->length = nbytes;
    job->targets[0] = (lib_target){dpu, bytes};
    return lib_give(job);
}

dpu_error_t dpu_checkpoint_save(struct dpu_set_t set, dpu_checkpoint_flags_t flags,
                                struct dpu_context_t *context)
{
    struct dpu_t *dpu = only_dpu(set);
    if (!dpu)
        return DPU_ERR_INVALID_DPU_SET;
    if (!dpu->program)
        return DPU_ERR_NO_PROGRAM_LOADED;
    *context = (struct dpu_context_t){
        .program_size = flags & DPU_CHECKPOINT_IRAM ? dpu->program->elf.nbytes : 0,
        .wram_size = flags & DPU_CHECKPOINT_WRAM ? dpu->rank->machine->block->profile.wram_bytes : 0,
        .mram_size = flags & DPU_CHECKPOINT_MRAM ? DPU_MRAM_BYTES : 0,
    };
    context->memory = malloc(memory_bytes(context) + 1);
    if (!context->memory)
        return DPU_ERR_SYSTEM;
    uint8_t *wram = context->memory + context->program_size, *mram = wram + context->wram_size;
    memcpy(context->memory, dpu->program->bytes, context->program_size);
    dpu_error_t status = copy_memory(dpu, LIB_COPY_FROM_WRAM, 0, wram, context->wram_size);
    if (status == DPU_OK)
        status = copy_memory(dpu, LIB_COPY_FROM_MRAM, DPU_MRAM_BASE, mram, context->mram_size);
    if (status != DPU_OK)
        dpu_checkpoint_free(context);
    return status;
}

// First, because loading a program writes its data.
static dpu_error_t restore_program(struct dpu_set_t set, const struct dpu_context_t *context)
{
    const struct dpu_program_t *program = lib_dpu_at(set, 0)->program;
    bool is_loaded = program && program->elf.nbytes == context->program_size &&
                     !memcmp(program->bytes, context->memory, context->program_size);
    if (is_loaded || !context->program_size)
        return DPU_OK;
    return dpu_load_from_memory(set, context->memory, context->program_size, NULL);
}

dpu_error_t dpu_checkpoint_restore(struct dpu_set_t set, dpu_checkpoint_flags_t flags,
                                   struct dpu_context_t *context)
{
    struct dpu_t *dpu = only_dpu(set);
    dpu_error_t status = dpu ? DPU_OK : DPU_ERR_INVALID_DPU_SET;
    if (dpu && context->wram_size > dpu->rank->machine->block->profile.wram_bytes)
        return DPU_ERR_INVALID_WRAM_ACCESS;
    uint8_t *wram = context->memory + context->program_size, *mram = wram + context->wram_size;
    if (status == DPU_OK && flags & DPU_CHECKPOINT_IRAM)
        status = restore_program(set, context);
    if (status == DPU_OK && flags & DPU_CHECKPOINT_WRAM)
        status = copy_memory(dpu, LIB_COPY_TO_WRAM, 0, wram, context->wram_size);
    if (status == DPU_OK && flags & DPU_CHECKPOINT_MRAM)
        status = copy_memory(dpu, LIB_COPY_TO_MRAM, DPU_MRAM_BASE, mram, context->mram_size);
    return status;
}

uint32_t dpu_checkpoint_get_serialized_context_size(struct dpu_context_t *context)
{
    return (uint32_t)(sizeof(header) + memory_bytes(context));
}

dpu_error_t dpu_checkpoint_serialize(struct dpu_context_t *context, uint8_t **serialized_context,
                                     uint32_t *serialized_context_size)
{
    header head = {.program_size = context->program_size,
                   .wram_size = context->wram_size,
                   .mram_size = context->mram_size};
    uint8_t *bytes = malloc(sizeof head + memory_bytes(context));
    if (!bytes)
        return DPU_ERR_SYSTEM;
    memcpy(head.magic, magic, sizeof magic);
    memcpy(bytes, &head, sizeof head);
    memcpy(bytes + sizeof head, context->memory, memory_bytes(context));
    *serialized_context = bytes;
    *serialized_context_size = dpu_checkpoint_get_serialized_context_size(context);
    return DPU_OK;
}

dpu_error_t dpu_checkpoint_deserialize(const uint8_t *serialized_context,
                                       uint32_t serialized_context_size,
                                       struct dpu_context_t *context)
{
    header head;
    if (serialized_context_size < sizeof head)
        return DPU_ERR_INTERNAL;
    memcpy(&head, serialized_context, sizeof head);
    *context = (struct dpu_context_t){head.program_size, head.wram_size, head.mram_size, NULL};
    if (memcmp(head.magic, magic, sizeof magic) || head.mram_size > DPU_MRAM_BYTES ||
        memory_bytes(context) != serialized_context_size - sizeof head)
        return DPU_ERR_INTERNAL;
    context->memory = malloc(memory_bytes(context) + 1);
    if (!context->memory)
        return DPU_ERR_SYSTEM;
    memcpy(context->memory, serialized_context + sizeof head, memory_bytes(context));
    return DPU_OK;
}

dpu_error_t dpu_checkpoint_free(struct dpu_context_t *context)
{
    free(context->memory);
    *context = (struct dpu_context_t){0};
    return DPU_OK;
}
