/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints: the memories of one DPU, kept on the host and restored there or on another DPU. */
#ifndef DPU_CHECKPOINT_H
#define DPU_CHECKPOINT_H

#include <dpu_error.h>
#include <dpu_types.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef enum _dpu_checkpoint_flags_t {
    DPU_CHECKPOINT_NONE = 0x0,
    DPU_CHECKPOINT_INTERNAL = 0x1, /* an idle DPU has no other state */
    DPU_CHECKPOINT_IRAM = 0x2,     /* the program */
    DPU_CHECKPOINT_MRAM = 0x8,
    DPU_CHECKPOINT_WRAM = 0x10,
} dpu_checkpoint_flags_t;

#define DPU_CHECKPOINT_ALL                                                                       \
    (DPU_CHECKPOINT_INTERNAL | DPU_CHECKPOINT_IRAM | DPU_CHECKPOINT_MRAM | DPU_CHECKPOINT_WRAM)

struct dpu_context_t {
    uint32_t program_size, wram_size, mram_size; /* in bytes; 0 for parts that were not kept */
    uint8_t *memory;                             /* the parts, one after another */
};

/* Saves one DPU whose program has ended; DPU_ERR_INVALID_DPU_SET for several. */
dpu_error_t dpu_checkpoint_save(struct dpu_set_t set, dpu_checkpoint_flags_t flags,
                                struct dpu_context_t *context);
/* Restores the requested parts that the context contains. */
dpu_error_t dpu_checkpoint_restore(struct dpu_set_t set, dpu_checkpoint_flags_t flags,
                                   struct dpu_context_t *context);
uint32_t dpu_checkpoint_get_serialized_context_size(struct dpu_context_t *context);
/* Serializes to bytes, allocated by malloc. */
dpu_error_t dpu_checkpoint_serialize(struct dpu_context_t *context, uint8_t **serialized_context,
                                     uint32_t *serialized_context_size);
/* DPU_ERR_INTERNAL for invalid bytes. */
dpu_error_t dpu_checkpoint_deserialize(const uint8_t *serialized_context,
                                       uint32_t serialized_context_size,
                                       struct dpu_context_t *context);
dpu_error_t dpu_checkpoint_free(struct dpu_context_t *context);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
