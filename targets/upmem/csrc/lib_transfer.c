// SPDX-License-Identifier: Apache-2.0
// Copies between the host and the memories of DPUs.
#include <stdlib.h>
#include <string.h>

#include "lib.h"

bool lib_is_mram(uint32_t address)
{
    return address >= DPU_MRAM_BASE && address - DPU_MRAM_BASE < DPU_MRAM_BYTES;
}

dpu_error_t lib_check_access(struct dpu_symbol_t symbol, uint32_t offset, size_t length)
{
    uint64_t address = (uint64_t)symbol.address + offset;
    if ((uint64_t)offset + length > symbol.size)
        return DPU_ERR_INVALID_SYMBOL_ACCESS;
    if (symbol.address >= DPU_IRAM_BASE)
        return DPU_ERR_INVALID_IRAM_ACCESS;
    if (symbol.address >= DPU_MRAM_BASE) {
        bool inside = address + length <= (uint64_t)DPU_MRAM_BASE + DPU_MRAM_BYTES;
        return !inside || (address | length) & 7 ? DPU_ERR_INVALID_MRAM_ACCESS : DPU_OK;
    }
    bool inside = address + length <= DPU_WRAM_ROOM;
    return !inside || (address | length) & 3 ? DPU_ERR_INVALID_WRAM_ACCESS : DPU_OK;
}

static bool is_to_device(const lib_job *job)
{
    return job->kind == LIB_COPY_TO_WRAM || job->kind == LIB_COPY_TO_MRAM;
}

static bool is_broadcast(const lib_job *job)
{
    return job->flags & 1;
}

dpu_error_t lib_run_copy(lib_job *job)
{
    uint64_t total = (uint64_t)job->length * job->count;
    double seconds = job->parallel
                         ? lib_parallel_seconds(job->length)
                         : lib_transfer_seconds(is_to_device(job), is_broadcast(job),
                                                lib_is_mram(job->address), job->count, job->length);
    dpu_error_t status = job->parallel ? lib_pass_beside(job, seconds) : lib_take_ranks(job);
    if (status != DPU_OK)
        return status;
    if (!job->parallel)
        lib_spend(job, seconds);
    for (uint32_t i = 0; i < job->count; i++) {
        uint8_t *memory = lib_memory(job->targets[i].dpu, job->address);
        if (is_to_device(job))
            memcpy(memory, job->targets[i].buffer, job->length);
        else
            memcpy(job->targets[i].buffer, memory, job->length);
    }
    lib_report_transfer(job, is_to_device(job), total, seconds);
    return DPU_OK;
}

static enum lib_kind kind_of(dpu_xfer_t xfer, uint32_t address)
{
    if (lib_is_mram(address))
        return xfer == DPU_XFER_TO_DPU ? LIB_COPY_TO_MRAM : LIB_COPY_FROM_MRAM;
    return xfer == DPU_XFER_TO_DPU ? LIB_COPY_TO_WRAM : LIB_COPY_FROM_WRAM;
}

// A copy job with `count` targets, which the caller fills in; NULL and a status on failure.
static lib_job *new_copy(struct dpu_set_t set, dpu_xfer_t xfer, struct dpu_symbol_t symbol,
                         uint32_t offset, size_t length, dpu_xfer_flags_t flags,
                         dpu_error_t *status)
{
    lib_machine *machine = lib_machine_of(set);
    *status = !machine                                                  ? DPU_ERR_INVALID_DPU_SET
              : xfer != DPU_XFER_TO_DPU && xfer != DPU_XFER_FROM_DPU ? DPU_ERR_INVALID_MEMORY_TRANSFER
                                                                        : lib_check_access(symbol, offset, length);
    bool parallel = flags & DPU_XFER_PARALLEL;
    if (*status == DPU_OK && parallel && (lib_is_mram(symbol.address) || !lib_is_v1b(machine)))
        *status = DPU_ERR_INVALID_PARALLEL_MEMORY_TRANSFER;
    if (*status != DPU_OK)
        return NULL;
    uint32_t address = symbol.address + offset;
    lib_job *job = lib_new_job(machine, kind_of(xfer, address), lib_dpu_count(set));
    if (!job) {
        *status = DPU_ERR_SYSTEM;
        return NULL;
    }
    job->run = lib_run_copy;
    job->address = address;
    job->length = length;
    job->parallel = parallel;
    job->is_async = flags & DPU_XFER_ASYNC;
    return job;
}

dpu_error_t dpu_broadcast_to_symbol(struct dpu_set_t dpu_set, struct dpu_symbol_t symbol,
                                    uint32_t symbol_offset, const void *src, size_t length,
                                    dpu_xfer_flags_t flags)
{
    dpu_error_t status;
    lib_job *job = new_copy(dpu_set, DPU_XFER_TO_DPU, symbol, symbol_offset, length, flags, &status);
    if (!job)
        return status;
    job->flags = 1;
    for (uint32_t i = 0; i < job->count; i++)
        job->targets[i] = (lib_target){lib_dpu_at(dpu_set, i), (uint8_t *)src};
    return lib_give(job);
}

dpu_error_t dpu_broadcast_to(struct dpu_set_t dpu_set, const char *symbol_name,
                             uint32_t symbol_offset, const void *src, size_t length,
                             dpu_xfer_flags_t flags)
{
    struct dpu_symbol_t symbol;
    dpu_error_t status = lib_find_symbol(dpu_set, symbol_name, &symbol);
    if (status != DPU_OK)
        return status;
    return dpu_broadcast_to_symbol(dpu_set, symbol, symbol_offset, src, length, flags);
}

dpu_error_t dpu_copy_to_symbol(struct dpu_set_t dpu_set, struct dpu_symbol_t symbol,
                               uint32_t symbol_offset, const void *src, size_t length)
{
    return dpu_broadcast_to_symbol(dpu_set, symbol, symbol_offset, src, length, DPU_XFER_DEFAULT);
}

dpu_error_t dpu_copy_to(struct dpu_set_t dpu_set, const char *symbol_name, uint32_t symbol_offset,
                        const void *src, size_t length)
{
    return dpu_broadcast_to(dpu_set, symbol_name, symbol_offset, src, length, DPU_XFER_DEFAULT);
}

dpu_error_t dpu_copy_from_symbol(struct dpu_set_t dpu_set, struct dpu_symbol_t symbol,
                                 uint32_t symbol_offset, void *dst, size_t length)
{
    dpu_error_t status;
    if (lib_dpu_count(dpu_set) != 1)
        return DPU_ERR_INVALID_DPU_SET;
    lib_job *job = new_copy(dpu_set, DPU_XFER_FROM_DPU, symbol, symbol_offset, length,
                            DPU_XFER_DEFAULT, &status);
    if (!job)
        return status;
    job->targets[0] = (lib_target){lib_dpu_at(dpu_set, 0), dst};
    return lib_give(job);
}

dpu_error_t dpu_copy_from(struct dpu_set_t dpu_set, const char *symbol_name, uint32_t symbol_offset,
                          void *dst, size_t length)
{
    struct dpu_symbol_t symbol;
    if (lib_dpu_count(dpu_set) != 1)
        return DPU_ERR_INVALID_DPU_SET;
    dpu_error_t status = lib_find_symbol(dpu_set, symbol_name, &symbol);
    if (status != DPU_OK)
        return status;
    return dpu_copy_from_symbol(dpu_set, symbol, symbol_offset, dst, length);
}

dpu_error_t dpu_prepare_xfer(struct dpu_set_t dpu_set, void *buffer)
{
    dpu_error_t status = lib_machine_of(dpu_set) ? DPU_OK : DPU_ERR_INVALID_DPU_SET;
    for (uint32_t i = 0; status != DPU_ERR_INVALID_DPU_SET && i < lib_dpu_count(dpu_set); i++) {
        struct dpu_t *dpu = lib_dpu_at(dpu_set, i);
        if (dpu->prepared && buffer)
            status = DPU_ERR_TRANSFER_ALREADY_SET;
        dpu->prepared = buffer;
    }
    return status;
}

dpu_error_t dpu_push_xfer_symbol(struct dpu_set_t dpu_set, dpu_xfer_t xfer,
                                 struct dpu_symbol_t symbol, uint32_t symbol_offset, size_t length,
                                 dpu_xfer_flags_t flags)
{
    dpu_error_t status;
    uint32_t used = 0, count = lib_dpu_count(dpu_set);
    lib_job *job = new_copy(dpu_set, xfer, symbol, symbol_offset, length, flags, &status);
    for (uint32_t i = 0; i < count; i++) {
        struct dpu_t *dpu = lib_dpu_at(dpu_set, i);
        if (job && dpu->prepared)
            job->targets[used++] = (lib_target){dpu, dpu->prepared};
        if (!(flags & DPU_XFER_NO_RESET))
            dpu->prepared = NULL;
    }
    if (!job)
        return status;
    job->count = used;
    return lib_give(job);
}

dpu_error_t dpu_push_xfer(struct dpu_set_t dpu_set, dpu_xfer_t xfer, const char *symbol_name,
                          uint32_t symbol_offset, size_t length, dpu_xfer_flags_t flags)
{
    struct dpu_symbol_t symbol;
    dpu_error_t status = lib_find_symbol(dpu_set, symbol_name, &symbol);
    if (status != DPU_OK)
        return status;
    return dpu_push_xfer_symbol(dpu_set, xfer, symbol, symbol_offset, length, flags);
}

// Gathers blocks into a buffer, or scatters them from it; returns their size in bytes.
static size_t move_blocks(const get_block_t *blocks, uint32_t dpu, uint8_t *buffer, size_t length,
                          bool gather)
{
    struct sg_block_info block;
    size_t at = 0;
    for (uint32_t i = 0; at < length && blocks->f(&block, dpu, i, blocks->args); i++) {
        size_t nbytes = block.length < length - at ? block.length : length - at;
        if (gather)
            memcpy(buffer + at, block.addr, nbytes);
        else
            memcpy(block.addr, buffer + at, nbytes);
        at += block.length;
    }
    return at;
}

typedef struct {
    get_block_t blocks;
    uint8_t args[]; // a copy, so that the caller may reuse its memory
} scatter;

static dpu_error_t run_scatter(lib_job *job)
{
    dpu_error_t status = lib_run_copy(job);
    const scatter *to = job->data;
    for (uint32_t i = 0; status == DPU_OK && i < job->count; i++)
        move_blocks(&to->blocks, i, job->targets[i].buffer, job->length, false);
    free(job->data);
    return status;
}

dpu_error_t dpu_push_sg_xfer(struct dpu_set_t dpu_set, dpu_xfer_t xfer, const char *symbol_name,
                             uint32_t symbol_offset, size_t length, get_block_t *get_block_info,
                             dpu_sg_xfer_flags_t flags)
{
    struct dpu_symbol_t symbol;
    dpu_error_t status = lib_find_symbol(dpu_set, symbol_name, &symbol);
    if (status != DPU_OK)
        return status;
    return dpu_push_sg_xfer_symbol(dpu_set, xfer, symbol, symbol_offset, length, get_block_info,
                                   flags);
}

dpu_error_t dpu_push_sg_xfer_symbol(struct dpu_set_t dpu_set, dpu_xfer_t xfer,
                                    struct dpu_symbol_t symbol, uint32_t symbol_offset,
                                    size_t length, get_block_t *get_block_info,
                                    dpu_sg_xfer_flags_t flags)
{
    if (!lib_is_mram(symbol.address))
        return DPU_ERR_SG_NOT_MRAM_SYMBOL;
    dpu_error_t status;
    dpu_xfer_flags_t plain = flags & DPU_SG_XFER_ASYNC ? DPU_XFER_ASYNC : DPU_XFER_DEFAULT;
    lib_job *job = new_copy(dpu_set, xfer, symbol, symbol_offset, length, plain, &status);
    if (!job)
        return status;
    scatter *to = calloc(1, sizeof *to + get_block_info->args_size);
    job->owned = calloc(job->count, length);
    memcpy(to->args, get_block_info->args, get_block_info->args_size);
    to->blocks = *get_block_info;
    to->blocks.args = get_block_info->args_size ? to->args : get_block_info->args;
    for (uint32_t i = 0; i < job->count; i++) {
        job->targets[i] = (lib_target){lib_dpu_at(dpu_set, i), job->owned + i * length};
        if (xfer == DPU_XFER_TO_DPU &&
            move_blocks(&to->blocks, i, job->targets[i].buffer, length, true) != length &&
            !(flags & DPU_SG_XFER_DISABLE_LENGTH_CHECK))
            status = DPU_ERR_SG_LENGTH_MISMATCH;
    }
    job->data = to;
    if (xfer == DPU_XFER_FROM_DPU)
        job->run = run_scatter;
    else
        free(to);
    if (status == DPU_OK)
        return lib_give(job);
    free(job->owned);
    free(job);
    return status;
}
