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
"""Array of integers on an inline_asm that is such a multiplication: the columns of the result,
whether operands are bfloat16, and whether B is transposed. Its operands are the sums, four words of
A and the descriptor of B. Written by lower-tiles, read by call-simulator."""

PINNED = "nvgpu.pinned"
"""Unit attribute on an inline_asm without instructions, whose results are its operands. Written by
lower-tiles, dropped by call-simulator."""

A_WORDS = 4


@cache
def operand_layout(m: int, k: int, threads: int) -> RegisterLayout:
    """The layout of A: a warp has 16 of 64 rows, a lane pairs of two of them and of two columns
    ("PTX ISA", register fragments for wgmma)."""
    groups = threads // 128
    rows = spatial(groups, 1) * local(m // 64 // groups, 1) * spatial(4, 1)
    lanes = column_local(2, 2) * spatial(8, 4) * local(1, 2)
    return (rows * local(1, k // 16) * lanes).merged()


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
    """The sums, a struct, after one step of 16."""
    count = columns // 2
    f32 = Type.parse("f32")
    sums = [llvm.extractvalue(f32, total, [at]) for at in range(count)]
    made = llvm.inline_asm(
        total.type,
        [*sums, *words, b],
        _text(element, columns, b_transposed),
        ",".join([*["=f"] * count, *map(str, range(count)), *["r"] * A_WORDS, "l"]),
        has_side_effects=True,
    )
    made.owner.attributes[FROM_REGISTERS] = DenseI64ArrayAttr.get(
        [columns, element == "bf16", b_transposed]
    )
    return made


def _text(element: str, columns: int, b_transposed: bool) -> str:
    count = columns // 2
    sums = ", ".join(f"${at}" for at in range(count))
    words = ", ".join(f"${2 * count + at}" for at in range(A_WORDS))
    shape = f"m64n{columns}k16.f32.{element}.{element}"
    return (
        f"wgmma.mma_async.sync.aligned.{shape} {{{sums}}}, {{{words}}}, "
        f"${2 * count + A_WORDS}, 1, 1, 1, {int(b_transposed)};"
    )
