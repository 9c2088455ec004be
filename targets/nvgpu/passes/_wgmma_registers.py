# SPDX-License-Identifier: Apache-2.0
"""Multiplications of warpgroups whose first operand is in registers: nvvm has none."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from xtc.core.tile_layout import RegisterLayout, column_local, local, spatial
from xtc.ir.mlir import DenseI64ArrayAttr, IntegerType, Type, Value
from xtc.ir.mlir_llvm import llvm
from xtc_targets.nvgpu.passes._wgmma_sums import per_register

FROM_REGISTERS = "nvgpu.wgmma"
"""Array of integers on an inline_asm that is such a multiplication: the columns of the result,
whether operands are bfloat16, whether B is transposed, and whether sums are float16. Its operands
are the registers of the sums, four words of A and the descriptor of B. Written by lower-tiles, read
by call-simulator."""

A_WORDS = 4


@cache
def operand_layout(m: int, k: int, threads: int) -> RegisterLayout:
    """The layout of A: a warp has 16 of 64 rows, a lane pairs of two of them and of two columns
    ("PTX ISA", register fragments for wgmma)."""
    groups = threads // 128
    rows = spatial(groups, 1) * local(m // 64 // groups, 1) * spatial(4, 1)
    lanes = column_local(2, 2) * spatial(8, 4) * local(1, 2)
    return (rows * local(1, k // 16) * lanes).merged()


def multiplied(
    words: Sequence[Value],
    b: Value,
    element: str,
    columns: int,
    b_transposed: bool,
    total: Value,
    kind: Type,
) -> Value:
    """The sums of type `kind`, a struct of registers, after one step of 16."""
    is_half = per_register(kind) > 1
    count = columns // 2 // per_register(kind)
    register = IntegerType.get_signless(32) if is_half else kind
    sums = [llvm.extractvalue(register, total, [at]) for at in range(count)]
    made = llvm.inline_asm(
        total.type,
        [*sums, *words, b],
        _text(element, columns, count, b_transposed, str(kind)),
        ",".join(
            [*["=r" if is_half else "=f"] * count, *map(str, range(count)), *["r"] * A_WORDS, "l"]
        ),
        has_side_effects=True,
    )
    made.owner.attributes[FROM_REGISTERS] = DenseI64ArrayAttr.get(
        [columns, element == "bf16", b_transposed, is_half]
    )
    return made


def _text(element: str, columns: int, count: int, b_transposed: bool, kind: str) -> str:
    sums = ", ".join(f"${at}" for at in range(count))
    words = ", ".join(f"${2 * count + at}" for at in range(A_WORDS))
    shape = f"m64n{columns}k16.{kind}.{element}.{element}"
    return (
        f"wgmma.mma_async.sync.aligned.{shape} {{{sums}}}, {{{words}}}, "
        f"${2 * count + A_WORDS}, 1, 1, 1, {int(b_transposed)};"
    )
