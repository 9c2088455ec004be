// SPDX-License-Identifier: Apache-2.0
// One simulated DPU: its memories, its tasklets and their modelled time.
//
// Programs are RISC-V (RV32I with Zba and Zbb) in place of the machine's own instructions. Pairs of
// instructions for which the machine has one are found when a program is loaded, and take one issue
// slot together. Nothing here knows of processes or threads: a DPU is run by one thread at a time.
#ifndef ISS_H
#define ISS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DPU_MAX_TASKLETS 24
#define DPU_MRAM_BYTES (64u << 20)
#define DPU_WRAM_ROOM 65536u // the larger of the profiles' sizes
#define DPU_MRAM_BASE 0x08000000u
#define DPU_IRAM_BASE 0x80000000u
#define DPU_ATOMIC_BASE 0xf0000000u
#define DPU_MAX_ATOMICS 256
#define DPU_NEVER UINT64_MAX

enum dpu_fault {
    DPU_NO_FAULT = 0,
    DPU_HEAP_FULL = 1, // the first five as the runtime numbers them
    DPU_DIVIDE_BY_ZERO = 2,
    DPU_ASSERT = 3,
    DPU_HALT = 4,
    DPU_PRINT = 5,
    DPU_MEMORY_FAULT = 6,
    DPU_DMA_FAULT = 7,
    DPU_UNALIGNED = 8,
    DPU_BAD_INSTRUCTION,
    DPU_STACK_OVERFLOW,
    DPU_BAD_ATOMIC,
    DPU_BAD_TASKLET,
    DPU_LIMIT,
    DPU_DEADLOCK, // every tasklet waits for another
    DPU_STUCK,    // it runs in a circle, and nothing can end that
    DPU_DMA_SIZE,
    DPU_DMA_ALIGNMENT,
};

typedef struct {
    uint32_t wram_bytes, iram_instructions, tasklets, mutexes;
    uint32_t frequency; // in Hz
} dpu_profile;

typedef struct {
    bool strict;     // DMA at misaligned addresses or of 0 bytes is a fault
    uint64_t jitter; // a seed, or 0 for the one deterministic order
    uint64_t limit;  // instructions of a launch
} dpu_rules;

typedef struct {
    uint8_t op, rd, rs1, rs2;
    uint8_t free; // issued together with the instruction that follows
    uint8_t rs3;
    uint8_t two_sources; // whether it reads two registers, which may be in the same bank
    int32_t imm;
} dpu_instruction;

typedef struct {
    uint32_t tasklets;
    uint32_t heap; // the first byte behind the stacks
    uint32_t stack[DPU_MAX_TASKLETS + 1]; // lowest bytes, and where the last one ends
    dpu_instruction *code;
    uint32_t length; // of the code
    uint64_t *issued;      // by instruction, where a profile is wanted; else NULL
    uint64_t *stalled;     // cycles of tasklets that slept or waited, the same
} dpu_program;

enum dpu_tasklet_state { DPU_ENDED, DPU_RUNS, DPU_WAITS };

typedef struct {
    uint32_t x[32];
    uint32_t pc;
    uint32_t issued;  // the index of the last instruction
    uint32_t pending; // issue slots that it still takes
    uint64_t ready;   // the cycle from which on it can issue, or since which it waits
    enum dpu_tasklet_state state;
    uint32_t waits_for; // address or number; the kind is `waits_in`
    uint8_t waits_in;
} dpu_tasklet;

typedef struct {
    uint64_t cycles, instructions;
    uint64_t dma_reads, dma_writes, dma_read_bytes, dma_write_bytes, dma_cycles;
    uint64_t misaligned, empty; // transfers that the machine carries out otherwise than written
} dpu_counts;

typedef struct dpu {
    uint8_t *wram, *mram;
    const dpu_profile *profile;
    const dpu_rules *rules;
    const dpu_program *program;
    uint8_t atomics[DPU_MAX_ATOMICS];
    dpu_tasklet tasklet[DPU_MAX_TASKLETS];
    uint8_t ring[32]; // tasklets by the cycle they can issue in, but for those that sleep
    uint32_t ring_head, ring_count;
    uint8_t sleeper[DPU_MAX_TASKLETS]; // those that are ready later, in order
    uint32_t sleepers;
    uint32_t alive; // tasklets that have not ended
    uint32_t here;  // the tasklet that issues
    bool again;     // the instruction is to be tried once more
    uint32_t heap;
    double conflicts; // cycles that banks of registers cost, below 1
    uint64_t now, dma_free;
    double dma_rest; // the part of a cycle that dma_free lacks
    uint32_t perf_mode;
    uint64_t perf_start;
    uint64_t random;
    uint64_t changes; // of memory, and what else is not in registers or atomic bits
    dpu_counts counts;
    enum dpu_fault fault;
    uint32_t fault_address;
    uint32_t fault_tasklet, fault_pc, fault_caller; // the last: the register of the return address
    char *log;
    size_t log_used, log_room;
} dpu;

// iss_decode.c. Returns false where there is no memory.
bool dpu_decode(dpu_program *program, const uint32_t *words, uint32_t count);
// iss_pairs.c: the same.
bool dpu_find_pairs(dpu_instruction *code, uint32_t count);

// iss_dpu.c
void dpu_boot(dpu *dpu);
bool dpu_is_done(const dpu *dpu); // ended, or at fault
const char *dpu_fault_name(enum dpu_fault fault);
void dpu_raise(dpu *dpu, enum dpu_fault fault, uint32_t address);

// iss_run.c: issue what can issue before `until`, in cycles since the boot, `most` instructions at
// most.
void dpu_run(dpu *dpu, uint64_t until, uint64_t most);
// iss_stuck.c: the same to the end of the program; nothing happens to it from outside.
void dpu_run_to_end(dpu *dpu);

// iss_schedule.c
void dpu_sleep(dpu *dpu, uint32_t tasklet, uint64_t ready);
void dpu_wake(dpu *dpu, uint32_t tasklet, uint64_t ready);
uint32_t dpu_next(dpu *dpu, uint64_t *ready); // takes it out; DPU_MAX_TASKLETS where none is ready
uint64_t dpu_random(dpu *dpu);

// iss_services.c, iss_dma.c, iss_helpers.c, iss_print.c: by the tasklet that issues. They return the
// issue slots that it takes beside the first; a tasklet that waits or sleeps is in no ring.
uint32_t dpu_service(dpu *dpu, const dpu_instruction *instruction);
void dpu_dma(dpu *dpu, bool is_write, uint32_t mram, uint32_t wram, uint32_t nbytes);
uint32_t dpu_helper(dpu *dpu, uint32_t number);
uint32_t dpu_print(dpu *dpu, uint32_t format, uint32_t arguments);
uint32_t dpu_bytes(uint32_t number, uint32_t a, uint32_t b);

// iss_dma.c: a load or store that is not in WRAM.
uint32_t dpu_far_load(dpu *dpu, uint32_t address, uint32_t nbytes);
void dpu_far_store(dpu *dpu, uint32_t address, uint32_t nbytes, uint32_t value);

#endif
