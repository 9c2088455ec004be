// SPDX-License-Identifier: Apache-2.0
// The cycles of an operation on memory after its start.
#include "wse_sim.h"

// Elements per cycle on WSE-2 and on WSE-3: the table of SIMD widths in the appendix of the
// language documentation. Operations that it does not list take one cycle per element.
static const uint8_t WIDTH[WSE_OPERATIONS][2] = {
    [WSE_MOV16] = {4, 8},   [WSE_MOV32] = {2, 4},   [WSE_FMOVH] = {4, 8},   [WSE_FMOVS] = {2, 4},
    [WSE_FADDH] = {4, 8},   [WSE_FADDS] = {2, 4},   [WSE_FADDHS] = {2, 4},  [WSE_FSUBH] = {4, 8},
    [WSE_FSUBS] = {2, 4},   [WSE_FMULH] = {4, 8},   [WSE_FMACH] = {4, 8},   [WSE_FMACHS] = {2, 4},
    [WSE_FMAXH] = {1, 8},   [WSE_FMAXS] = {1, 4},   [WSE_FNEGH] = {4, 8},   [WSE_FNEGS] = {2, 4},
    [WSE_FABSH] = {4, 8},   [WSE_FABSS] = {2, 4},   [WSE_FH2S] = {1, 4},    [WSE_FS2H] = {1, 4},
    [WSE_ADD16] = {4, 8},   [WSE_SUB16] = {4, 8},   [WSE_AND16] = {4, 8},   [WSE_OR16] = {4, 8},
    [WSE_XOR16] = {4, 8},   [WSE_SLL16] = {1, 4},   [WSE_SLR16] = {1, 4},   [WSE_SAR16] = {1, 4},
    [WSE_XP162FH] = {1, 8}, [WSE_XP162FS] = {1, 4}, [WSE_FH2XP16] = {1, 8}, [WSE_FS2XP16] = {1, 4},
    [WSE_ADDC16] = {1, 8},  [WSE_FSCALEH] = {4, 8}, [WSE_FSCALES] = {2, 4},
};

// There are eight banks, interleaved by 16-bit words (same appendix): strides that hit few banks
// limit the elements per cycle. The appendix gives two numbers for a stride of 4 modulo 8; this is
// the one that two banks allow.
static uint32_t limited(uint32_t width, const wse_stream *stream, uint32_t element)
{
    if (stream->kind != WSE_S_MEMORY)
        return width;
    int32_t stride = stream->strides[0] / (int32_t)element;
    if (stride == 0 || stride == 1)
        return width;
    static const uint8_t most[8] = {1, 2, 8, 8, 2, 8, 8, 2};
    uint32_t limit = most[(uint32_t)stride % 8];
    return width < limit ? width : limit;
}

// Whether two sources are in the same bank, so that each cycle can read only one of them: if their
// addresses are equal modulo 16 bytes (measured: one of four alignments of f32 takes 1.94 times as
// long, and strided multiply-adds of f32 take two cycles per element).
static bool collide(const wse_operation_state *operation, bool wide_steps)
{
    const wse_stream *first = &operation->from[0], *second = &operation->from[1];
    if (operation->sources < 2 || first->kind != WSE_S_MEMORY || second->kind != WSE_S_MEMORY)
        return false;
    int32_t step = (int32_t)wse_size_to(operation->operation);
    bool contiguous = first->strides[0] == step && second->strides[0] == step;
    return contiguous ? ((first->address ^ second->address) & 0xc) == 0 : !wide_steps;
}

uint64_t wse_cycles_of(const wse_operation_state *operation)
{
    uint32_t number = operation->operation, length = operation->length;
    uint32_t width = WIDTH[number][wse.by_queue];
    bool in_table = width > 0;
    width = limited(in_table ? width : 1, &operation->to, wse_size_to(number));
    for (uint32_t i = 0; i < operation->sources; i++)
        width = limited(width, &operation->from[i], wse_size_from(number, i));
    if (collide(operation, in_table))
        return width == 1 ? 2ull * length : length / (width / 2) + 1;
    return width == 1 ? length : length / width + 1;
}
