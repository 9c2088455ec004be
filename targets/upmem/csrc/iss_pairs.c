// SPDX-License-Identifier: Apache-2.0
// Finds groups of RISC-V instructions that the machine executes as one, when a program is loaded.
// The additional instructions are marked free: they take no issue slot.
#include <stdlib.h>

#include "iss_decode.h"
#include "iss.h"

#define WINDOW 8 // the most instructions between two partners
#define NONE UINT32_MAX

typedef struct {
    dpu_instruction *code;
    uint32_t count;
    uint8_t *leaders; // jump targets
    uint8_t *paired;  // 64-bit halves that already have a partner
} pairing;

static bool is_load_or_store(const dpu_instruction *in)
{
    return in->op >= OP_LB && in->op <= OP_SW;
}

static bool is_store(const dpu_instruction *in)
{
    return in->op >= OP_SB && in->op <= OP_SW;
}

static bool jumps(const dpu_instruction *in)
{
    return in->op == OP_JAL || (in->op >= OP_BEQ && in->op <= OP_BGEU);
}

static bool ends_block(const dpu_instruction *in)
{
    return in->op >= OP_JAL && in->op <= OP_BGEU;
}

static bool writes(const dpu_instruction *in, uint32_t number)
{
    return number != 0 && in->rd == number && !is_store(in) &&
           !(in->op >= OP_BEQ && in->op <= OP_BGEU);
}

static uint32_t before(const pairing *p, uint32_t at)
{
    uint32_t first = at;
    while (first > 0 && at - first < WINDOW && !p->leaders[first])
        first--;
    return first;
}

// The instruction shortly before `at`, in the same block, that wrote a register, or NONE.
static uint32_t writer(const pairing *p, uint32_t at, uint32_t number)
{
    for (uint32_t i = at, first = before(p, at); i-- > first;)
        if (writes(&p->code[i], number))
            return i;
    return NONE;
}

static bool was_by(const pairing *p, uint32_t at, uint32_t number, enum dpu_op op)
{
    uint32_t from = writer(p, at, number);
    return from != NONE && p->code[from].op == op;
}

// The machine has 32-bit immediates and 24-bit addresses.
static bool is_long_immediate(const dpu_instruction *first, const dpu_instruction *second)
{
    if ((first->op != OP_LUI && first->op != OP_AUIPC) || second->rs1 != first->rd || !first->rd)
        return false;
    return (second->op == OP_ADDI && second->rd == first->rd) || is_load_or_store(second) ||
           second->op == OP_JALR;
}

// A shift whose only user is the next addition.
static bool is_shifted_add(const dpu_instruction *first, const dpu_instruction *second)
{
    return first->op == OP_SLLI && second->op == OP_ADD && second->rd == first->rd &&
           (second->rs1 == first->rd) != (second->rs2 == first->rd);
}

// Loads or stores of both halves of a 64-bit value, for which the machine has one instruction.
static bool are_halves(const dpu_instruction *first, const dpu_instruction *second)
{
    int32_t low = first->imm < second->imm ? first->imm : second->imm;
    int32_t high = first->imm < second->imm ? second->imm : first->imm;
    return first->op == second->op && (first->op == OP_LW || first->op == OP_SW) &&
           first->rs1 == second->rs1 && high - low == 4 && low % 8 == 0;
}

static bool is_second_half(pairing *p, uint32_t at)
{
    const dpu_instruction *in = &p->code[at];
    if (in->op != OP_LW && in->op != OP_SW)
        return false;
    for (uint32_t i = at, first = before(p, at); i-- > first;) {
        if (writes(&p->code[i], in->rs1))
            return false;
        if (!p->paired[i] && are_halves(&p->code[i], in)) {
            p->paired[i] = p->paired[at] = 1;
            return true;
        }
    }
    return false;
}

// Whether an instruction computes the carry of an addition or the borrow of a subtraction, which
// the machine's instructions handle.
static bool is_carry(const pairing *p, uint32_t at)
{
    const dpu_instruction *in = &p->code[at];
    if (in->op == OP_SLTIU)
        return in->imm == 1 && was_by(p, at, in->rs1, OP_ADDI);
    if (in->op != OP_SLTU)
        return false;
    uint32_t from = writer(p, at, in->rs1);
    if (from != NONE && (p->code[from].op == OP_ADD || p->code[from].op == OP_ADDI) &&
        (p->code[from].rs1 == in->rs2 || p->code[from].rs2 == in->rs2))
        return true;
    for (uint32_t i = before(p, at); i < p->count && i <= at + WINDOW; i++) {
        if (i > at && p->leaders[i])
            break;
        if (p->code[i].op == OP_SUB && p->code[i].rs1 == in->rs1 && p->code[i].rs2 == in->rs2)
            return true;
    }
    return false;
}

static bool is_carry_at(const pairing *p, uint32_t at, uint32_t number)
{
    uint32_t from = writer(p, at, number);
    return from != NONE && p->code[from].free && is_carry(p, from);
}

static bool reads(const dpu_instruction *in, uint32_t number)
{
    return in->rs1 == number || in->rs2 == number;
}

// Whether the first user of an addition's result is another addition.
static bool is_added(const pairing *p, uint32_t at)
{
    for (uint32_t i = at + 1; i < p->count && i <= at + WINDOW && !p->leaders[i]; i++) {
        if (reads(&p->code[i], p->code[at].rd))
            return p->code[i].op == OP_ADD;
        if (ends_block(&p->code[i]))
            return false;
    }
    return false;
}

// The addition of a carry to one of the upper halves or to their sum, which the instruction of that
// sum includes.
static bool takes_carry(const pairing *p, uint32_t at)
{
    const dpu_instruction *in = &p->code[at];
    if (in->op == OP_SUB)
        return is_carry_at(p, at, in->rs2) && was_by(p, at, in->rs1, OP_SUB);
    if (in->op != OP_ADD)
        return false;
    bool is_second = is_carry_at(p, at, in->rs2);
    if (!is_second && !is_carry_at(p, at, in->rs1))
        return false;
    return was_by(p, at, is_second ? in->rs1 : in->rs2, OP_ADD) || is_added(p, at);
}

// A branch on a comparison of 64-bit numbers: the machine branches on each half, with two
// instructions instead of these four.
static bool compares_halves(const pairing *p, uint32_t at)
{
    const dpu_instruction *both = &p->code[at];
    if (both->op != OP_OR || at + 1 >= p->count)
        return false;
    const dpu_instruction *branch = both + 1;
    return (branch->op == OP_BEQ || branch->op == OP_BNE) && branch->rs1 == both->rd &&
           branch->rs2 == 0 && was_by(p, at, both->rs1, OP_XOR) && was_by(p, at, both->rs2, OP_XOR);
}

// An operation whose result a branch compares with zero: the machine's operations can branch
// themselves.
static bool decides(const dpu_instruction *in, const dpu_instruction *branch)
{
    bool computes = (in->op >= OP_XORI && in->op <= OP_SUB) || in->op == OP_ADDI ||
                    (in->op >= OP_XOR && in->op <= OP_AND) || in->op == OP_SLL;
    return computes && in->rd != 0 && branch->rs1 == in->rd && branch->rs2 == 0 &&
           branch->op >= OP_BEQ && branch->op <= OP_BGE;
}

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

static void find_free(pairing *p)
{
    for (uint32_t i = 0; i + 1 < p->count; i++) {
        dpu_instruction *in = &p->code[i], *next = in + 1;
        if (ends_block(in))
            continue;
        bool joins_next = !p->leaders[i + 1] && (is_long_immediate(in, next) ||
                                                 is_shifted_add(in, next) || decides(in, next));
        in->free = joins_next || is_second_half(p, i) || is_carry(p, i) || takes_carry(p, i);
        if (compares_halves(p, i)) {
            p->code[writer(p, i, in->rs1)].free = 1;
            in->free = 1;
        }
    }
}

bool dpu_find_pairs(dpu_instruction *code, uint32_t count)
{
    pairing p = {code, count, find_leaders(code, count), calloc(count + 1, 1)};
    bool is_done = p.leaders && p.paired;
    if (is_done)
        find_free(&p);
    free(p.leaders);
    free(p.paired);
    return is_done;
}
