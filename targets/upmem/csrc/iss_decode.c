// SPDX-License-Identifier: Apache-2.0
// Decodes RISC-V instructions.
#include <stdlib.h>

#include "iss_decode.h"
#include "iss.h"

static int32_t sign_extend(uint32_t value, int bits)
{
    return (int32_t)(value << (32 - bits)) >> (32 - bits);
}

static int32_t branch_offset(uint32_t w)
{
    return sign_extend((w >> 31) << 12 | (w >> 7 & 1) << 11 | (w >> 25 & 63) << 5 |
                           (w >> 8 & 15) << 1, 13);
}

static int32_t jump_offset(uint32_t w)
{
    return sign_extend((w >> 31) << 20 | (w >> 12 & 255) << 12 | (w >> 20 & 1) << 11 |
                           (w >> 21 & 1023) << 1, 21);
}

static enum dpu_op unary(uint32_t w)
{
    switch (w >> 20) {
    case 0x600: return OP_CLZ;
    case 0x601: return OP_CTZ;
    case 0x602: return OP_CPOP;
    case 0x604: return OP_SEXT_B;
    case 0x605: return OP_SEXT_H;
    default: return w >> 25 ? OP_BAD : OP_SLLI;
    }
}

static enum dpu_op immediate_op(uint32_t w)
{
    static const uint8_t by_function[8] = {OP_ADDI, OP_BAD, OP_SLTI, OP_SLTIU,
                                           OP_XORI, OP_BAD, OP_ORI, OP_ANDI};
    uint32_t function = w >> 12 & 7;
    if (function == 1)
        return unary(w);
    if (function != 5)
        return by_function[function];
    switch (w >> 25) {
    case 0x00: return OP_SRLI;
    case 0x20: return OP_SRAI;
    case 0x30: return OP_RORI;
    case 0x34: return w >> 20 == 0x698 ? OP_REV8 : OP_BAD;
    case 0x14: return w >> 20 == 0x287 ? OP_ORC_B : OP_BAD;
    default: return OP_BAD;
    }
}

static enum dpu_op register_op(uint32_t w)
{
    static const struct {
        uint8_t funct7;
        uint8_t ops[8];
    } groups[] = {
        {0x00, {OP_ADD, OP_SLL, OP_SLT, OP_SLTU, OP_XOR, OP_SRL, OP_OR, OP_AND}},
        {0x20, {OP_SUB, OP_BAD, OP_BAD, OP_BAD, OP_XNOR, OP_SRA, OP_ORN, OP_ANDN}},
        {0x10, {OP_BAD, OP_BAD, OP_SH1ADD, OP_BAD, OP_SH2ADD, OP_BAD, OP_SH3ADD, OP_BAD}},
        {0x05, {OP_BAD, OP_BAD, OP_BAD, OP_BAD, OP_MIN, OP_MINU, OP_MAX, OP_MAXU}},
        {0x30, {OP_BAD, OP_ROL, OP_BAD, OP_BAD, OP_BAD, OP_ROR, OP_BAD, OP_BAD}},
        {0x04, {OP_BAD, OP_BAD, OP_BAD, OP_BAD, OP_ZEXT_H, OP_BAD, OP_BAD, OP_BAD}},
    };
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (groups[i].funct7 == w >> 25)
            return groups[i].ops[w >> 12 & 7];
    return OP_BAD;
}

static void decode_immediate(dpu_instruction *in, uint32_t w)
{
    in->op = (uint8_t)immediate_op(w);
    in->imm = (int32_t)w >> 20;
    if ((w >> 12 & 7) == 1 || (w >> 12 & 7) == 5)
        in->imm = (int32_t)(w >> 20 & 31);
    if (in->op == OP_ADDI && in->rd == 2)
        in->op = OP_ADDI_SP;
}

// Custom instructions of the simulator: the function fields have the number of the service.
static void decode_own(dpu_instruction *in, uint32_t w, enum dpu_op op)
{
    in->op = (uint8_t)op;
    in->imm = (int32_t)((w >> 25 & 3) << 3 | (w >> 12 & 7));
    in->rs3 = (uint8_t)(w >> 27);
    if (op == OP_HELPER)
        in->imm += in->rs3 << 5;
}

static dpu_instruction decode(uint32_t w)
{
    static const uint8_t branches[8] = {OP_BEQ, OP_BNE, OP_BAD, OP_BAD,
                                        OP_BLT, OP_BGE, OP_BLTU, OP_BGEU};
    static const uint8_t loads[8] = {OP_LB, OP_LH, OP_LW, OP_BAD, OP_LBU, OP_LHU, OP_BAD, OP_BAD};
    static const uint8_t stores[8] = {OP_SB, OP_SH, OP_SW, OP_BAD, OP_BAD, OP_BAD, OP_BAD, OP_BAD};
    dpu_instruction in = {.op = OP_BAD, .rd = w >> 7 & 31, .rs1 = w >> 15 & 31, .rs2 = w >> 20 & 31};
    uint32_t function = w >> 12 & 7;
    switch (w & 127) {
    case 0x37: in.op = OP_LUI; in.imm = (int32_t)(w & 0xfffff000u); break;
    case 0x17: in.op = OP_AUIPC; in.imm = (int32_t)(w & 0xfffff000u); break;
    case 0x6f: in.op = OP_JAL; in.imm = jump_offset(w); break;
    case 0x67: in.op = OP_JALR; in.imm = (int32_t)w >> 20; break;
    case 0x63: in.op = branches[function]; in.imm = branch_offset(w); break;
    case 0x03: in.op = loads[function]; in.imm = (int32_t)w >> 20; break;
    case 0x23: in.op = stores[function]; in.imm = ((int32_t)w >> 25) * 32 + (int)(w >> 7 & 31); break;
    case 0x13: decode_immediate(&in, w); break;
    case 0x33: in.op = (uint8_t)register_op(w); break;
    case 0x0f: in.op = OP_FENCE; break;
    case 0x0b: decode_own(&in, w, OP_SERVICE); break;
    case 0x2b: decode_own(&in, w, OP_HELPER); break;
    case 0x5b: decode_own(&in, w, OP_BYTES); break;
    default: break;
    }
    return in;
}

static bool reads_two(const dpu_instruction *in)
{
    bool both = in->rs1 && in->rs2;
    return both && ((in->op >= OP_BEQ && in->op <= OP_BGEU) || (in->op >= OP_SB && in->op <= OP_SW) ||
                    (in->op >= OP_ADD && in->op <= OP_AND) || (in->op >= OP_SH1ADD && in->op <= OP_XNOR) ||
                    in->op == OP_BYTES);
}

bool dpu_decode(dpu_program *program, const uint32_t *words, uint32_t count)
{
    program->code = calloc(count ? count : 1, sizeof *program->code);
    if (!program->code)
        return false;
    program->length = count;
    for (uint32_t i = 0; i < count; i++) {
        program->code[i] = decode(words[i]);
        program->code[i].two_sources = reads_two(&program->code[i]);
    }
    return dpu_find_pairs(program->code, count);
}
