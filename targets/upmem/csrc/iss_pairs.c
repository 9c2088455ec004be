// SPDX-License-Identifier: Apache-2.0
// Which instructions of RISC-V the machine issues as one.
#include <stdlib.h>

#include "iss_decode.h"
#include "iss.h"

static bool is_load_or_store(const dpu_instruction *in)
{
    return in->op >= OP_LB && in->op <= OP_SW;
}

static bool ends_block(const dpu_instruction *in)
{
    return in->op >= OP_JAL && in->op <= OP_BGEU;
}

// The machine has immediates of 32 bits, and addresses of 24.
static bool is_long_immediate(const dpu_instruction *first, const dpu_instruction *second)
{
    if ((first->op != OP_LUI && first->op != OP_AUIPC) || second->rs1 != first->rd || !first->rd)
        return false;
    return (second->op == OP_ADDI && second->rd == first->rd) || is_load_or_store(second) ||
           second->op == OP_JALR;
}

// A shift whose result only the addition that follows uses.
static bool is_shifted_add(const dpu_instruction *first, const dpu_instruction *second)
{
    return first->op == OP_SLLI && second->op == OP_ADD && second->rd == first->rd &&
           (second->rs1 == first->rd) != (second->rs2 == first->rd);
}

// Loads or stores of both halves of 64 bits: the machine has one instruction for them.
static bool is_double_word(const dpu_instruction *first, const dpu_instruction *second)
{
    if (first->op != second->op || (first->op != OP_LW && first->op != OP_SW) ||
        first->rs1 != second->rs1 || (first->op == OP_LW && first->rd == first->rs1))
        return false;
    int32_t low = first->imm < second->imm ? first->imm : second->imm;
    int32_t high = first->imm < second->imm ? second->imm : first->imm;
    return high - low == 4 && low % 8 == 0;
}

// The carry of an addition: the machine has additions with carry.
static bool is_carry(const dpu_instruction *first, const dpu_instruction *second)
{
    return (first->op == OP_ADD || first->op == OP_ADDI) && second->op == OP_SLTU &&
           second->rs1 == first->rd;
}

static bool adds_carry(const dpu_instruction *carry, const dpu_instruction *second)
{
    return carry->op == OP_SLTU && second->op == OP_ADD &&
           (second->rs1 == carry->rd || second->rs2 == carry->rd);
}

// Two numbers of 64 bits are compared, and the result decides a branch: the machine branches on each
// half, which takes two instructions of these four.
static bool is_double_comparison(const dpu_instruction *four)
{
    const dpu_instruction *low = four, *high = four + 1, *both = four + 2, *branch = four + 3;
    return low->op == OP_XOR && high->op == OP_XOR && both->op == OP_OR &&
           (branch->op == OP_BEQ || branch->op == OP_BNE) && branch->rs1 == both->rd &&
           branch->rs2 == 0 &&
           ((both->rs1 == low->rd && both->rs2 == high->rd) ||
            (both->rs1 == high->rd && both->rs2 == low->rd));
}

static bool jumps(const dpu_instruction *in)
{
    return in->op == OP_JAL || (in->op >= OP_BEQ && in->op <= OP_BGEU);
}

// Instructions that something may jump to.
static uint8_t *find_leaders(const dpu_instruction *code, uint32_t count)
{
    uint8_t *leaders = calloc(count + 1, 1);
    for (uint32_t i = 0; leaders && i < count; i++) {
        uint32_t to = i + (uint32_t)(code[i].imm / 4);
        if (jumps(&code[i]) && to < count)
            leaders[to] = 1;
        if (ends_block(&code[i]))
            leaders[i + 1] = 1;
    }
    return leaders;
}

// Whether a load can be done before the one in front of it, and should: the lower address first.
static bool is_out_of_order(const dpu_instruction *first, const dpu_instruction *second)
{
    return first->op == OP_LW && second->op == OP_LW && first->rs1 == second->rs1 &&
           first->rd != first->rs1 && second->rd != second->rs1 && first->rd != second->rd &&
           first->imm > second->imm;
}

// Loads stand in the order in which a scheduler of RISC-V wants them: halves of 64 bits come
// together when loads from one base are sorted.
static void sort_loads(dpu_instruction *code, uint32_t count, const uint8_t *leaders)
{
    for (uint32_t i = 1; i < count; i++)
        for (uint32_t k = i; k > 0 && !leaders[k] && is_out_of_order(&code[k - 1], &code[k]); k--) {
            dpu_instruction moved = code[k];
            code[k] = code[k - 1];
            code[k - 1] = moved;
        }
}

static void find_pairs(dpu_instruction *code, uint32_t count)
{
    for (uint32_t i = 0; i + 1 < count; i++) {
        dpu_instruction *first = &code[i], *second = &code[i + 1];
        if (ends_block(first))
            continue;
        if (i + 3 < count && is_double_comparison(first)) {
            code[i].free = code[i + 2].free = 1;
            continue;
        }
        bool starts = i == 0 || !code[i - 1].free;
        if (is_long_immediate(first, second) || is_shifted_add(first, second))
            first->free = 1;
        else if (starts && is_double_word(first, second))
            first->free = 1;
        else if (starts && is_carry(first, second))
            first->free = 1;
        else if (i > 0 && code[i - 1].free && is_carry(&code[i - 1], first) &&
                 adds_carry(first, second))
            first->free = 1;
    }
}

bool dpu_find_pairs(dpu_instruction *code, uint32_t count)
{
    uint8_t *leaders = find_leaders(code, count);
    if (leaders) {
        sort_loads(code, count, leaders);
        find_pairs(code, count);
    }
    free(leaders);
    return leaders != NULL;
}
