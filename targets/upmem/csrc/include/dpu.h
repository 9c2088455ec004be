/* SPDX-License-Identifier: Apache-2.0 */
/* The host's interface to DPUs. */
#ifndef DPU_H
#define DPU_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dpu_checkpoint.h>
#include <dpu_error.h>
#include <dpu_types.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define DPU_ALLOCATE_ALL UINT32_MAX
#define DPU_MRAM_HEAP_POINTER_NAME "__sys_used_mram_end"

typedef enum _dpu_launch_policy_t {
    DPU_ASYNCHRONOUS,
    DPU_SYNCHRONOUS,
} dpu_launch_policy_t;

typedef enum _dpu_xfer_t {
    DPU_XFER_TO_DPU,
    DPU_XFER_FROM_DPU,
} dpu_xfer_t;

typedef enum _dpu_xfer_flags_t {
    DPU_XFER_DEFAULT = 0,
    DPU_XFER_NO_RESET = 1 << 0, /* the prepared pointers are kept */
    DPU_XFER_ASYNC = 1 << 1,
    DPU_XFER_PARALLEL = 1 << 2, /* while a program runs; WRAM only */
} dpu_xfer_flags_t;

typedef enum _dpu_sg_xfer_flags_t {
    DPU_SG_XFER_DEFAULT = 0,
    DPU_SG_XFER_ASYNC = 1 << 1,
    DPU_SG_XFER_DISABLE_LENGTH_CHECK = 1 << 2,
} dpu_sg_xfer_flags_t;

typedef enum _dpu_callback_flags_t {
    DPU_CALLBACK_DEFAULT = 0,
    DPU_CALLBACK_ASYNC = 1 << 0,
    DPU_CALLBACK_NONBLOCKING = 1 << 1, /* later jobs do not wait for it */
    DPU_CALLBACK_SINGLE_CALL = 1 << 2, /* once for the set instead of once per rank */
    DPU_CALLBACK_PARALLEL = 1 << 3,    /* while a program runs */
} dpu_callback_flags_t;

/* Sets. */
dpu_error_t dpu_alloc(uint32_t nr_dpus, const char *profile, struct dpu_set_t *dpu_set);
dpu_error_t dpu_alloc_ranks(uint32_t nr_ranks, const char *profile, struct dpu_set_t *dpu_set);
dpu_error_t dpu_free(struct dpu_set_t dpu_set);
dpu_error_t dpu_get_nr_ranks(struct dpu_set_t dpu_set, uint32_t *nr_ranks);
dpu_error_t dpu_get_nr_dpus(struct dpu_set_t dpu_set, uint32_t *nr_dpus);
struct dpu_t *dpu_from_set(struct dpu_set_t set);
struct dpu_rank_t *dpu_rank_from_set(struct dpu_set_t set);
struct dpu_set_t dpu_set_from_rank(struct dpu_rank_t **rank);
struct dpu_rank_t *dpu_get_rank(struct dpu_t *dpu);

/* The position of a DPU: its rank, its chip in the rank, and its number on the chip. */
typedef uint16_t dpu_rank_id_t;
typedef uint8_t dpu_slice_id_t;
typedef uint8_t dpu_member_id_t;

dpu_rank_id_t dpu_get_rank_id(struct dpu_rank_t *rank);
int dpu_get_rank_numa_node(struct dpu_rank_t *rank); /* 0: simulated ranks have no node */
dpu_slice_id_t dpu_get_slice_id(struct dpu_t *dpu);
dpu_member_id_t dpu_get_member_id(struct dpu_t *dpu);

/* Programs. */
dpu_error_t dpu_load(struct dpu_set_t dpu_set, const char *binary_path,
                     struct dpu_program_t **program);
dpu_error_t dpu_load_from_memory(struct dpu_set_t dpu_set, uint8_t *buffer, size_t buffer_size,
                                 struct dpu_program_t **program);
dpu_error_t dpu_get_symbol(struct dpu_program_t *program, const char *symbol_name,
                           struct dpu_symbol_t *symbol);

struct dpu_incbin_t {
    uint8_t *buffer;
    size_t size;
    const char *path;
};

dpu_error_t dpu_load_from_incbin(struct dpu_set_t dpu_set, struct dpu_incbin_t *incbin,
                                 struct dpu_program_t **program);

#define DPU_INCBIN(name, file)                                                                     \
    __asm__(".section .rodata\n.globl xtc_begin_" #name "\n.balign 8\nxtc_begin_" #name            \
            ":\n.incbin \"" file "\"\n.globl xtc_end_" #name "\nxtc_end_" #name ":\n.previous\n"); \
    extern uint8_t xtc_begin_##name[], xtc_end_##name[];                                           \
    static __attribute__((unused)) struct dpu_incbin_t xtc_incbin_of_##name(void)                  \
    {                                                                                              \
        struct dpu_incbin_t found = {xtc_begin_##name,                                             \
                                     (size_t)(xtc_end_##name - xtc_begin_##name), file};           \
        return found;                                                                              \
    }                                                                                              \
    static __attribute__((unused)) struct dpu_incbin_t name;                                       \
    __attribute__((constructor)) static void xtc_set_##name(void) { name = xtc_incbin_of_##name(); }

/* Execution. */
dpu_error_t dpu_launch(struct dpu_set_t dpu_set, dpu_launch_policy_t policy);
dpu_error_t dpu_status(struct dpu_set_t dpu_set, bool *done, bool *fault);
dpu_error_t dpu_sync(struct dpu_set_t dpu_set);
dpu_error_t dpu_log_read(struct dpu_set_t dpu_set, FILE *stream);

static inline dpu_error_t dpulog_read_for_dpu(struct dpu_t *dpu, FILE *stream)
{
    struct dpu_set_t set;
    set.kind = DPU_SET_DPU;
    set.dpu = dpu;
    return dpu_log_read(set, stream);
}

/* Transfers. */
dpu_error_t dpu_copy_to(struct dpu_set_t dpu_set, const char *symbol_name, uint32_t symbol_offset,
                        const void *src, size_t length);
dpu_error_t dpu_copy_from(struct dpu_set_t dpu_set, const char *symbol_name, uint32_t symbol_offset,
                          void *dst, size_t length);
dpu_error_t dpu_copy_to_symbol(struct dpu_set_t dpu_set, struct dpu_symbol_t symbol,
                               uint32_t symbol_offset, const void *src, size_t length);
dpu_error_t dpu_copy_from_symbol(struct dpu_set_t dpu_set, struct dpu_symbol_t symbol,
                                 uint32_t symbol_offset, void *dst, size_t length);
dpu_error_t dpu_broadcast_to(struct dpu_set_t dpu_set, const char *symbol_name,
                             uint32_t symbol_offset, const void *src, size_t length,
                             dpu_xfer_flags_t flags);
dpu_error_t dpu_broadcast_to_symbol(struct dpu_set_t dpu_set, struct dpu_symbol_t symbol,
                                    uint32_t symbol_offset, const void *src, size_t length,
                                    dpu_xfer_flags_t flags);
dpu_error_t dpu_prepare_xfer(struct dpu_set_t dpu_set, void *buffer);
dpu_error_t dpu_push_xfer(struct dpu_set_t dpu_set, dpu_xfer_t xfer, const char *symbol_name,
                          uint32_t symbol_offset, size_t length, dpu_xfer_flags_t flags);
dpu_error_t dpu_push_xfer_symbol(struct dpu_set_t dpu_set, dpu_xfer_t xfer,
                                 struct dpu_symbol_t symbol, uint32_t symbol_offset, size_t length,
                                 dpu_xfer_flags_t flags);

struct sg_block_info {
    uint8_t *addr;
    uint32_t length;
};

typedef struct get_block_t {
    /* Block `block_index` of a DPU, numbered in the set; false if there is none. */
    bool (*f)(struct sg_block_info *out, uint32_t dpu_index, uint32_t block_index, void *args);
    void *args;
    size_t args_size;
} get_block_t;

dpu_error_t dpu_push_sg_xfer(struct dpu_set_t dpu_set, dpu_xfer_t xfer, const char *symbol_name,
                             uint32_t symbol_offset, size_t length, get_block_t *get_block_info,
                             dpu_sg_xfer_flags_t flags);

dpu_error_t dpu_push_sg_xfer_symbol(struct dpu_set_t dpu_set, dpu_xfer_t xfer,
                                    struct dpu_symbol_t symbol, uint32_t symbol_offset,
                                    size_t length, get_block_t *get_block_info,
                                    dpu_sg_xfer_flags_t flags);

/* Callbacks, which are called with each rank as a set and its number. */
dpu_error_t dpu_callback(struct dpu_set_t dpu_set,
                         dpu_error_t (*callback)(struct dpu_set_t rank, uint32_t rank_id,
                                                 void *args),
                         void *args, dpu_callback_flags_t flags);
/* The same; `release` is called with `args` once, when the job is done, dropped or refused. */
dpu_error_t xtc_dpu_callback(struct dpu_set_t dpu_set,
                             dpu_error_t (*callback)(struct dpu_set_t rank, uint32_t rank_id,
                                                     void *args),
                             void *args, dpu_callback_flags_t flags, void (*release)(void *args));

#include <dpu_fifo.h>

/* DPU_FOREACH(set, dpu) and DPU_FOREACH(set, dpu, index); DPU_RANK_FOREACH alike. */
struct dpu_set_iterator_t {
    struct dpu_set_t set, next;
    uint32_t count, rank, member;
    bool has_next;
};

struct dpu_set_iterator_t dpu_set_dpu_iterator_from(struct dpu_set_t set);
void dpu_set_dpu_iterator_next(struct dpu_set_iterator_t *iterator);
struct dpu_set_iterator_t dpu_set_rank_iterator_from(struct dpu_set_t set);
void dpu_set_rank_iterator_next(struct dpu_set_iterator_t *iterator);

#define XTC_FOREACH_I(kind, set, one, i)                                                           \
    for (struct dpu_set_iterator_t xtc_##kind##_at = dpu_set_##kind##_iterator_from(set);          \
         (one) = xtc_##kind##_at.next, (i) = xtc_##kind##_at.count, xtc_##kind##_at.has_next;      \
         dpu_set_##kind##_iterator_next(&xtc_##kind##_at))
#define XTC_FOREACH(kind, set, one)                                                                \
    for (struct dpu_set_iterator_t xtc_##kind##_at = dpu_set_##kind##_iterator_from(set);          \
         (one) = xtc_##kind##_at.next, xtc_##kind##_at.has_next;                                   \
         dpu_set_##kind##_iterator_next(&xtc_##kind##_at))
#define XTC_PICK(a, b, c, name, ...) name
#define XTC_DPU_FOREACH_3(set, one, i) XTC_FOREACH_I(dpu, set, one, i)
#define XTC_DPU_FOREACH_2(set, one) XTC_FOREACH(dpu, set, one)
#define XTC_RANK_FOREACH_3(set, one, i) XTC_FOREACH_I(rank, set, one, i)
#define XTC_RANK_FOREACH_2(set, one) XTC_FOREACH(rank, set, one)
#define DPU_FOREACH(...)                                                                           \
    XTC_PICK(__VA_ARGS__, XTC_DPU_FOREACH_3, XTC_DPU_FOREACH_2, )(__VA_ARGS__)
#define DPU_RANK_FOREACH(...)                                                                      \
    XTC_PICK(__VA_ARGS__, XTC_RANK_FOREACH_3, XTC_RANK_FOREACH_2, )(__VA_ARGS__)

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
