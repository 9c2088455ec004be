# SPDX-License-Identifier: Apache-2.0
"""Registers of multiplications of warpgroups: operands there, which nvvm does not have, and sums
that are there before a fence."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from xtc.core.tile_layout import RegisterLayout, column_local, local, spatial
from xtc.ir.mlir import (
    DenseI64ArrayAttr,
    F32Type,
    Type,
    UnitAttr,
    Value,
    VectorType,
    vector,
)
from xtc.ir.mlir_llvm import llvm

FROM_REGISTERS = "nvgpu.wgmma"
"""Array of integers on an inline_asm that is such a multiplication: the columns of the result, the
number of the operands' type in `KINDS`, and whether B is transposed. Its operands are the sums,
four words of A and the descriptor of B. Written by lower-tiles, read by call-simulator."""

KINDS = ("f16", "bf16", "e4m3", "e5m2", "tf32", "s8", "u8")
"""Types of operands, in the order of `csrc/gpu_wgmma.c`."""

_INTEGERS = ("s8", "u8")

PINNED = "nvgpu.pinned"
"""Unit attribute on an inline_asm without instructions, whose results are its operands. Written by
lower-tiles, dropped by call-simulator."""

A_WORDS = 4


@cache
def operand_layout(m: int, k: int, threads: int, nbytes: int) -> RegisterLayout:
    """The layout of A, of elements of `nbytes`: a warp has 16 of 64 rows, a lane four registers of
    neighbours, of two rows and two places in each ("PTX ISA", register fragments for wgmma)."""
    packed = 4 // nbytes
    groups = threads // 128
    rows = spatial(groups, 1) * local(m // 64 // groups, 1) * spatial(4, 1)
    lanes = column_local(2, 2) * spatial(8, 4) * local(1, packed)
    return (rows * local(1, k // (8 * packed)) * lanes).merged()


def pinned(sums: Value) -> Value:
    """The same sums, a vector, in registers from here on.

    Code generators would write zeros to them behind the fence, and the assembler insert another
    one, or wait for multiplications in flight.
    """
    type = VectorType(sums.type)
    count, element = type.shape[0], type.element_type
    kind = "f" if isinstance(element, F32Type) else "r"
    struct = Type.parse(f"!llvm.struct<({', '.join([str(element)] * count)})>")
    made = llvm.inline_asm(
        struct,
        [vector.extract(sums, [], [at]) for at in range(count)],
        "",
        ",".join([*[f"={kind}"] * count, *map(str, range(count))]),
        has_side_effects=True,
    )
    made.owner.attributes[PINNED] = UnitAttr.get()
    elements = [llvm.extractvalue(element, made, [at]) for at in range(count)]
    return vector.from_elements(type, elements)


def multiplied(
    words: Sequence[Value], b: Value, element: str, columns: int, b_transposed: bool, total: Value
) -> Value:
    """The sums, a struct, after one step of 32 bytes."""
    count, is_integer = columns // 2, element in _INTEGERS
    type, kind = Type.parse("i32" if is_integer else "f32"), "r" if is_integer else "f"
    sums = [llvm.extractvalue(type, total, [at]) for at in range(count)]
    made = llvm.inline_asm(
        total.type,
        [*sums, *words, b],
        _text(element, columns, b_transposed),
        ",".join([*[f"={kind}"] * count, *map(str, range(count)), *["r"] * A_WORDS, "l"]),
        has_side_effects=True,
    )
    made.owner.attributes[FROM_REGISTERS] = DenseI64ArrayAttr.get(
        [columns, KINDS.index(element), b_transposed]
    )
    return made


def _text(element: str, columns: int, b_transposed: bool) -> str:
    count = columns // 2
    sums = ", ".join(f"${at}" for at in range(count))
    words = ", ".join(f"${2 * count + at}" for at in range(A_WORDS))
    is_integer, is_half = element in _INTEGERS, element in KINDS[:2]
    step = 16 if is_half else 8 if element == "tf32" else 32
    shape = f"m64n{columns}k{step}.{'s32' if is_integer else 'f32'}.{element}.{element}"
    # The scale of the sums; the signs of both operands; and of B whether it is transposed.
    numbers = [1] if is_integer else [1, 1, 1, int(b_transposed)] if is_half else [1, 1, 1]
    return (
        f"wgmma.mma_async.sync.aligned.{shape} {{{sums}}}, {{{words}}}, "
        f"${2 * count + A_WORDS}, {', '.join(map(str, numbers))};"
    )
