// SPDX-License-Identifier: Apache-2.0
// One simulated DPU: its memories, its tasklets and their modelled time.
//
// Programs are RISC-V (RV32I with Zba and Zbb) instead of the machine's instruction set. Pairs of
// instructions that are a single machine instruction are found when a program is loaded, and share
// one issue slot. Nothing here knows of processes or threads: one thread at a time runs a DPU.
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
    DPU_HEAP_FULL = 1, // the first five have the runtime's numbers
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
    DPU_STUCK,    // an endless loop that nothing can end
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
    uint64_t limit;  // most instructions of a launch
} dpu_rules;

typedef struct {
    uint8_t op, rd, rs1, rs2;
    uint8_t free; // issued together with the next instruction
    uint8_t rs3;
    uint8_t two_sources; // whether it reads two registers, which may share a bank
    int32_t imm;
} dpu_instruction;

typedef struct {
    uint32_t tasklets;
    uint32_t heap; // the first byte after the stacks
    uint32_t stack[DPU_MAX_TASKLETS + 1]; // the lowest bytes of stacks, and the end of the last one
    dpu_instruction *code;
    uint32_t length; // of the code
    uint64_t *issued;      // by instruction, for a profile; else NULL
    uint64_t *stalled;     // likewise, cycles in which tasklets slept or waited
} dpu_program;

enum dpu_tasklet_state { DPU_ENDED, DPU_RUNS, DPU_WAITS };

typedef struct {
    uint32_t x[32];
    uint32_t pc;
    uint32_t issued;  // the index of the last instruction
    uint32_t pending; // remaining issue slots of that instruction
    uint64_t ready;   // the cycle from which it can issue, or since which it waits
    enum dpu_tasklet_state state;
    uint32_t waits_for; // address or number; the kind is `waits_in`
    uint8_t waits_in;
} dpu_tasklet;

typedef struct {
    uint64_t cycles, instructions;
    uint64_t dma_reads, dma_writes, dma_read_bytes, dma_write_bytes, dma_cycles;
    uint64_t misaligned, empty; // transfers that the machine executes differently
} dpu_counts;

typedef struct dpu {
    uint8_t *wram, *mram;
    const dpu_profile *profile;
    const dpu_rules *rules;
    const dpu_program *program;
    uint8_t atomics[DPU_MAX_ATOMICS];
    dpu_tasklet tasklet[DPU_MAX_TASKLETS];
    uint8_t ring[32]; // tasklets by the cycle in which they can issue, except sleepers
    uint32_t ring_head, ring_count;
    uint8_t sleeper[DPU_MAX_TASKLETS]; // tasklets that are ready later, in order
    uint32_t sleepers;
    uint32_t alive; // tasklets that have not ended
    uint32_t here;  // the issuing tasklet
    bool again;     // the instruction must be retried
    uint32_t heap;
    double conflicts; // fraction of a cycle lost to register bank conflicts
    uint64_t now, dma_free;
    double dma_rest; // the fraction of a cycle missing in dma_free
    uint32_t perf_mode;
    uint64_t perf_start;
    uint64_t random;
    uint64_t changes; // number of changes of memory and of state outside registers and atomic bits
    dpu_counts counts;
    enum dpu_fault fault;
    uint32_t fault_address;
    uint32_t fault_tasklet, fault_pc, fault_caller; // the last: the return address register
    char *log;
    size_t log_used, log_capacity;
} dpu;

// iss_decode.c. Returns false if memory runs out.
bool dpu_decode(dpu_program *program, const uint32_t *words, uint32_t count);
// iss_pairs.c: the same.
bool dpu_find_pairs(dpu_instruction *code, uint32_t count);

// iss_dpu.c
void dpu_boot(dpu *dpu);
bool dpu_is_done(const dpu *dpu); // ended or faulted
const char *dpu_fault_name(enum dpu_fault fault);
void dpu_raise(dpu *dpu, enum dpu_fault fault, uint32_t address);

// iss_run.c: issues instructions before `until`, in cycles since the boot, but at most `most`.
void dpu_run(dpu *dpu, uint64_t until, uint64_t most);
// iss_stuck.c: the same until the end of the program, without external events.
void dpu_run_to_end(dpu *dpu);

// iss_schedule.c
void dpu_sleep(dpu *dpu, uint32_t tasklet, uint64_t ready);
void dpu_wake(dpu *dpu, uint32_t tasklet, uint64_t ready);
uint32_t dpu_next(dpu *dpu, uint64_t *ready); // removes it; DPU_MAX_TASKLETS if none is ready
uint64_t dpu_random(dpu *dpu);

// iss_services.c, iss_dma.c, iss_helpers.c, iss_print.c: requests of the issuing tasklet. They
// return its additional issue slots; a tasklet that waits or sleeps is not in the ring.
uint32_t dpu_service(dpu *dpu, const dpu_instruction *instruction);
void dpu_dma(dpu *dpu, bool is_write, uint32_t mram, uint32_t wram, uint32_t nbytes);
uint32_t dpu_helper(dpu *dpu, uint32_t number);
uint32_t dpu_print(dpu *dpu, uint32_t format, uint32_t arguments);
uint32_t dpu_bytes(uint32_t number, uint32_t a, uint32_t b);

// iss_dma.c: a load or store outside of WRAM.
uint32_t dpu_far_load(dpu *dpu, uint32_t address, uint32_t nbytes);
void dpu_far_store(dpu *dpu, uint32_t address, uint32_t nbytes, uint32_t value);

#endif
