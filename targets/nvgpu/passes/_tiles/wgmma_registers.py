# SPDX-License-Identifier: Apache-2.0
"""Registers of warpgroup multiplications: operand A, which nvvm does not support, and accumulators
that must be in registers before a fence."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from xtc.core.tile_layout import RegisterLayout, column_local, local, spatial
from xtc.ir.mlir import (
    DenseI64ArrayAttr,
    F32Type,
    IntegerType,
    Type,
    UnitAttr,
    Value,
    VectorType,
    vector,
)
from xtc.ir.mlir_llvm import llvm
from xtc_targets.nvgpu.passes._tiles.wgmma_sums import packed, per_register, unpacked

FROM_REGISTERS = "nvgpu.wgmma"
"""Array of integers on an inline_asm that is such a multiplication: columns of the result, index of
the operand type in `KINDS`, whether B is transposed, and whether accumulators are float16. Its
operands are the registers of the accumulators, four words of A and the descriptor of B. Written by
lower-tiles, read by call-simulator."""

KINDS = ("f16", "bf16", "e4m3", "e5m2", "tf32", "s8", "u8")
"""Operand types, in the order of `csrc/gpu_wgmma.c`."""

INTEGERS = ("s8", "u8")

PINNED = "nvgpu.pinned"
"""Unit attribute on an inline_asm without instructions that returns its operands. Written by
lower-tiles, removed by call-simulator."""

A_WORDS = 4


@cache
def operand_layout(m: int, k: int, threads: int, nbytes: int) -> RegisterLayout:
    """The layout of A with elements of `nbytes`: a warp has 16 of 64 rows, a lane four registers of
    consecutive elements, two in each of two rows ("PTX ISA", register fragments for wgmma)."""
    packed = 4 // nbytes
    groups = threads // 128
    rows = spatial(groups, 1) * local(m // 64 // groups, 1) * spatial(4, 1)
    lanes = column_local(2, 2) * spatial(8, 4) * local(1, packed)
    return (rows * local(1, k // (8 * packed)) * lanes).merged()


def pinned(sums: Value) -> Value:
    """Pin a vector of accumulators to registers at this point.

    Otherwise code generators write zeros to them after the fence, and the assembler inserts another
    fence, or a wait for multiplications in flight.
    """
    type = VectorType(sums.type)
    size, element = type.shape[0], type.element_type
    given = packed([vector.extract(sums, [], [at]) for at in range(size)])
    count = size // per_register(element)
    made = llvm.inline_asm(
        given.type,
        _registers(given, count, element),
        "",
        ",".join(_tied(count, element)),
        has_side_effects=True,
    )
    made.owner.attributes[PINNED] = UnitAttr.get()
    return vector.from_elements(type, unpacked(made, size, element))


def _registers(sums: Value, count: int, kind: Type) -> list[Value]:
    """The registers of a struct of accumulators."""
    register = IntegerType.get_signless(32) if per_register(kind) > 1 else kind
    return [llvm.extractvalue(register, sums, [at]) for at in range(count)]


def _tied(count: int, kind: Type) -> list[str]:
    """Constraints for registers that are both results and operands of an inline_asm."""
    letter = "f" if isinstance(kind, F32Type) else "r"
    return [*[f"={letter}"] * count, *map(str, range(count))]


def multiplied(
    words: Sequence[Value],
    b: Value,
    element: str,
    columns: int,
    b_transposed: bool,
    total: Value,
    kind: Type,
) -> Value:
    """The accumulators of type `kind`, a struct of registers, after one step of 32 bytes."""
    count = columns // 2 // per_register(kind)
    made = llvm.inline_asm(
        total.type,
        [*_registers(total, count, kind), *words, b],
        _text(element, columns, count, b_transposed, kind),
        ",".join([*_tied(count, kind), *["r"] * A_WORDS, "l"]),
        has_side_effects=True,
    )
    made.owner.attributes[FROM_REGISTERS] = DenseI64ArrayAttr.get(
        [columns, KINDS.index(element), b_transposed, per_register(kind) > 1]
    )
    return made


def _text(element: str, columns: int, count: int, b_transposed: bool, kind: str) -> str:
    sums = ", ".join(f"${at}" for at in range(count))
    words = ", ".join(f"${2 * count + at}" for at in range(A_WORDS))
    is_integer, is_half = element in INTEGERS, element in KINDS[:2]
    step = 16 if is_half else 8 if element == "tf32" else 32
    shape = f"m64n{columns}k{step}.{'s32' if is_integer else kind}.{element}.{element}"
    # The scale of the accumulators, the signs of both operands, and whether B is transposed.
    numbers = [1] if is_integer else [1, 1, 1, int(b_transposed)] if is_half else [1, 1, 1]
    return (
        f"wgmma.mma_async.sync.aligned.{shape} {{{sums}}}, {{{words}}}, "
        f"${2 * count + A_WORDS}, {', '.join(map(str, numbers))};"
    )
