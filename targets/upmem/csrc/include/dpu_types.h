/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of DPUs, programs and symbols. */
#ifndef DPU_TYPES_H
#define DPU_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dpu_t;
struct dpu_rank_t;
struct dpu_program_t;

typedef uint32_t mram_addr_t;
typedef uint32_t wram_addr_t;
typedef uint16_t iram_addr_t;

typedef enum _dpu_set_kind_t {
    DPU_SET_RANKS,
    DPU_SET_DPU,
} dpu_set_kind_t;

struct dpu_set_t {
    dpu_set_kind_t kind;
    union {
        struct {
            uint32_t nr_ranks;
            struct dpu_rank_t **ranks;
        } list;
        struct dpu_t *dpu;
    };
};

struct dpu_symbol_t {
    uint32_t address; /* in WRAM; from 0x08000000 on in MRAM; from 0x80000000 on in IRAM */
    uint32_t size;    /* in bytes */
};

typedef struct dpu_symbol_t dpu_symbol_t;

#endif
