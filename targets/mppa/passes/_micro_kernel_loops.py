# SPDX-License-Identifier: Apache-2.0
"""Contractions as contractions: which loops are rows, columns and the sum, and all strides.

A convolution is one as well: its columns are channels or pixels, its other loops go around.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xtc.ir.builders import numbers
from xtc.ir.builders.tensors import Offset
from xtc.ir.mlir import Operation, Value
from xtc_passes.local import _layouts as layouts
from xtc_targets.mppa.passes._linalg_loops import Nest, element, nest

_TYPES = {("f32", "f32"), ("f64", "f64"), ("f16", "f32"), ("i8", "i32"), ("i32", "i32")}
"""Types of operands and sums that there are micro-kernels for."""


@dataclass(frozen=True)
class Contraction:
    """`c[m, n] += a[m, k] * b[k, n]` for each iteration of the other loops.

    Attributes:
        nest: the operation.
        a, b: which of its operands the operands are; the sums are the last one.
        rows: the loop over m; None where there is a single row.
        columns, depth: the loops over n and k.
    """

    nest: Nest
    a: int
    b: int
    rows: int | None
    columns: int
    depth: int

    @property
    def dtype(self) -> str:
        """The type of the operands, as in the names of micro-kernels."""
        return element(self.nest.op.operands[self.a])

    @property
    def around(self) -> list[int]:
        """The other loops."""
        inside = (self.rows, self.columns, self.depth)
        return [loop for loop in range(self.nest.loops) if loop not in inside]

    def stride(self, operand: int, loop: int | None) -> int:
        """How many elements an operand moves in one iteration of a loop."""
        return 0 if loop is None else _stride(self.nest, operand, loop)


def _stride(found: Nest, operand: int, loop: int) -> int:
    strides = layouts.strides_of(found.op.operands[operand]) or ()
    row = found.indices[operand]
    return sum(step * index.factor(loop) for step, index in zip(strides, row, strict=True))


def contraction(op: Operation) -> Contraction | None:
    """The operation as a contraction; None where micro-kernels cannot compute it.

    Both the sums and one of the operands need neighbouring elements along the columns.
    """
    found = nest(op)
    if found is None or found.contracted is None:
        return None
    if any(index.offset for row in found.indices for index in row):
        return None
    operands = list(op.operands)
    if (element(operands[0]), element(operands[2])) not in _TYPES or _mixes_types(operands):
        return None
    if not all(map(layouts.has_layout, operands)):
        return None
    for a, b in ((0, 1), (1, 0)):
        if (piece := _as_contraction(found, a, b)) is not None:
            return piece
    return None


def _mixes_types(operands: Sequence[Value]) -> bool:
    return element(operands[0]) != element(operands[1])


def _as_contraction(found: Nest, a: int, b: int) -> Contraction | None:
    def used(operand: int) -> set[int]:
        return {loop for loop in range(found.loops) if _stride(found, operand, loop)}

    in_a, in_b, in_c = used(a), used(b), used(2)
    columns = [n for n in in_c & in_b - in_a if _stride(found, 2, n) == _stride(found, b, n) == 1]
    depths = (in_a & in_b) - in_c
    if not columns or not depths or any(_walks(found, loop) > 1 for loop in columns):
        return None
    sizes = _sizes(found)
    rows = (in_c & in_a) - in_b

    def worth(loop: int) -> tuple[float, int]:
        """The longest loop, and of equal ones the innermost."""
        return sizes[loop], loop

    return Contraction(
        found,
        a,
        b,
        max(rows, key=worth, default=None),
        max(columns, key=worth),
        max(depths, key=worth),
    )


def _walks(found: Nest, loop: int) -> int:
    """In how many dimensions of one operand a loop moves, at most."""
    return max(sum(1 for index in row if index.factor(loop)) for row in found.indices)


def _sizes(found: Nest) -> list[float]:
    """Iterations of each loop; what is not known is taken to be large."""
    sizes: list[float] = [float("inf")] * found.loops
    for operand, row in zip(found.op.operands, found.indices, strict=True):
        for size, index in zip(operand.type.shape, row, strict=True):
            if index.loop is not None and size != layouts.DYNAMIC:
                sizes[index.loop] = size
    return sizes


def parts(extent: Offset, most: int) -> list[tuple[Offset, Offset, int]]:
    """An extent as pieces of equal size: where they begin, how many there are, and the size."""
    whole = numbers.divide(extent, most)
    start, rest = numbers.multiply(whole, most), numbers.remainder(extent, most)
    found: list[tuple[Offset, Offset, int]] = [(0, whole, most)]
    # A known rest is one smaller piece; what is known at run time only is done one by one.
    found.append((start, 1, rest) if isinstance(rest, int) else (start, rest, 1))
    return [piece for piece in found if piece[1] != 0 and piece[2] != 0]
