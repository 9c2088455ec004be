// SPDX-License-Identifier: Apache-2.0
// The data that the host and the simulator's process share, in addition to the DPUs' memories.
#ifndef UPMEM_BLOCK_H
#define UPMEM_BLOCK_H

#include "iss.h"

#define UPMEM_MAX_DPUS 2560
#define UPMEM_DPUS_PER_RANK 64
#define UPMEM_MEMORY_ADDRESS 0x200000000000u // address of DPU 0's memories in the simulator
#define UPMEM_STRIDE ((uint64_t)DPU_WRAM_ROOM + DPU_MRAM_BYTES) // distance between DPUs
#define UPMEM_TEXT 256
#define UPMEM_SCRATCH (2u << 20)

// Operations on the selected DPUs, as function numbers of a launch request.
enum upmem_operation {
    UPMEM_ASSIGN = 1, // argument: program; writes its data
    UPMEM_BOOT,
    UPMEM_RUN, // runs each DPU to its `until`
    UPMEM_TAKE_LOG, // argument: DPU; moves its text to the scratch memory
    UPMEM_PROFILE,  // argument: program; writes a upmem_count per instruction to the scratch memory
};

typedef struct {
    uint64_t program; // 0: none
    uint32_t selected, running, done, fault;
    uint32_t launched; // set by the host: in a launch that is not yet reported
    uint64_t until; // in cycles since the boot; DPU_NEVER: until the end
    uint32_t fault_tasklet, fault_address, fault_pc;
    char fault_text[UPMEM_TEXT]; // message and source location
    dpu_counts counts;
    uint64_t log_bytes;
} upmem_dpu;

typedef struct {
    dpu_profile profile;
    dpu_rules rules;
    uint32_t dpus, threads;
    uint32_t profiles; // whether instructions are counted by line
    upmem_dpu dpu[]; // `dpus` of them
} upmem_block;

typedef struct {
    uint32_t line; // 0 if unknown
    char file[28];
    uint64_t issued, stalled;
} upmem_count;

static inline size_t upmem_block_bytes(uint32_t dpus)
{
    return sizeof(upmem_block) + dpus * sizeof(upmem_dpu) + UPMEM_SCRATCH;
}

static inline void *upmem_scratch(upmem_block *block)
{
    return &block->dpu[block->dpus];
}

#endif
