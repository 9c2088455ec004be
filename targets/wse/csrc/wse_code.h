// SPDX-License-Identifier: Apache-2.0
// The data layouts that compiled PE code and the simulator share. sema/code.py, sema/descriptor.py
// and sema/builtins/operations.py write the same layouts.
#ifndef WSE_CODE_H
#define WSE_CODE_H

#include <stdbool.h>
#include <stdint.h>

#define WSE_EXPORT __attribute__((visibility("default"), used))

// The state of a PE that its code accesses: memory, modelled time, stack.
typedef struct {
    uint8_t *base;
    uint64_t clock, limit; // cycles
    uint32_t stack, stack_limit; // the stack grows down from the end of SRAM to the end of the data
} wse_head;

enum wse_dsd_kind { WSE_MEM1D = 1, WSE_MEM4D, WSE_FABIN, WSE_FABOUT, WSE_FIFO };

// Memory: kind and element size, base, rank, extents, strides in elements, index offset. Fabric: kind,
// queue or 0xffff, color + 1, extent, flags, index offset, microthread + 1. FIFO: kind, number.
typedef struct {
    uint16_t words[16];
} wse_dsd;

enum {
    WSE_CONTROL = 1, WSE_ADVANCE = 2, WSE_INDEXED = 4,
    WSE_TRANSFORM = 8, // control wavelets become marked words, and these become control wavelets
    WSE_ZERO_FIRST = 16, WSE_ZERO_SECOND = 32, // the source to clear after sending
    WSE_PAIRS = 64 // two 16-bit elements per wavelet
};

enum wse_operand_kind { WSE_DSD, WSE_SCALAR, WSE_POINTER, WSE_DSR };

typedef struct {
    uint32_t kind;
    uint32_t scalar; // the bits of a scalar, a pointer, or 16 times the bank plus a register
    const wse_dsd *dsd;
} wse_operand;

enum {
    WSE_ASYNC = 1, WSE_ACTIVATE = 2, WSE_UNBLOCK = 4, WSE_INDEX = 8, WSE_UT = 16, WSE_SAVE = 32,
    WSE_CONTROL_ENDS = 64, WSE_CONTROL_ACTIVATES = 128, WSE_CONTROL_UNBLOCKS = 256
};

typedef struct {
    uint32_t flags;
    uint16_t activate, unblock, index, ut;
    uint16_t on_control, unused; // the task that a control wavelet activates or unblocks
} wse_options;

enum wse_operation {
    WSE_MOV16, WSE_MOV32, WSE_FMOVH, WSE_FMOVS, WSE_FADDH, WSE_FADDS, WSE_FADDHS, WSE_FSUBH,
    WSE_FSUBS, WSE_FMULH, WSE_FMULS, WSE_FMACH, WSE_FMACS, WSE_FMACHS, WSE_FMAXH, WSE_FMAXS,
    WSE_FNEGH, WSE_FNEGS, WSE_FABSH, WSE_FABSS, WSE_FH2S, WSE_FS2H, WSE_ADD16, WSE_SUB16,
    WSE_AND16, WSE_OR16, WSE_XOR16, WSE_SLL16, WSE_SLR16, WSE_SAR16, WSE_XP162FH, WSE_XP162FS,
    WSE_FH2XP16, WSE_FS2XP16, WSE_ADD32, WSE_SUB32, WSE_FMINH, WSE_FMINS, WSE_ADDC16, WSE_FSCALEH,
    WSE_FSCALES, WSE_POPCNT, WSE_CLZ, WSE_CTZ, WSE_DFILT,
    WSE_OPERATIONS
};

typedef void wse_entry(wse_head *pe, void *words);
// The one function that a program exports.
typedef void wse_program(wse_entry *const **entries, const uint32_t **words, uint64_t *count);

#endif
