# SPDX-License-Identifier: Apache-2.0
"""Maps contractions to micro-kernels: loops over rows, columns and K, and all strides.

A convolution is a contraction as well: its columns are channels or pixels, and its other loops go
around the micro-kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xtc.ir.analysis.contractions import Roles, contraction_roles
from xtc.ir.builders import numbers
from xtc.ir.builders.slices import Offset
from xtc.ir.mlir import Operation, Value
from xtc_passes.local import _view_layouts as layouts
from xtc_targets.mppa.passes._linalg_loops import LinalgLoops, element, linalg_loops

_TYPES = {("f32", "f32"), ("f64", "f64"), ("f16", "f32"), ("i8", "i32"), ("i32", "i32")}
"""The types of operands and accumulators of the micro-kernels."""


@dataclass(frozen=True)
class MatmulLoops:
    """`c[m, n] += a[m, k] * b[k, n]` for each iteration of the other loops.

    Attributes:
        linalg: the operation.
        a, b: the numbers of the operands that are the matrices; the accumulators are the last one.
        rows: the loop over m; None if there is a single row.
        columns, depth: the loops over n and k.
    """

    linalg: LinalgLoops
    a: int
    b: int
    rows: int | None
    columns: int
    depth: int

    @property
    def dtype(self) -> str:
        """The type of the operands, as it occurs in the names of micro-kernels."""
        return element(self.linalg.op.operands[self.a])

    @property
    def around(self) -> list[int]:
        """The other loops."""
        inside = (self.rows, self.columns, self.depth)
        return [loop for loop in range(self.linalg.loops) if loop not in inside]

    def stride(self, operand: int, loop: int | None) -> int:
        """The stride of an operand along a loop, in elements."""
        return 0 if loop is None else _stride(self.linalg, operand, loop)


def _stride(found: LinalgLoops, operand: int, loop: int) -> int:
    strides = layouts.strides_of(found.op.operands[operand]) or ()
    row = found.indices[operand]
    return sum(step * index.factor(loop) for step, index in zip(strides, row, strict=True))


def matmul_loops(op: Operation) -> MatmulLoops | None:
    """The operation as a contraction; None if micro-kernels cannot compute it.

    The accumulators and one operand must be contiguous along the columns.
    """
    found = linalg_loops(op)
    if found is None or not found.is_multiply_add:
        return None
    if any(index.offset for row in found.indices for index in row):
        return None
    operands = list(op.operands)
    if (element(operands[0]), element(operands[2])) not in _TYPES or _mixes_types(operands):
        return None
    if not all(map(layouts.has_layout, operands)):
        return None
    with op.context:
        roles = contraction_roles(found.indices, found.loops)
    if roles is None:
        return None
    swapped = Roles(roles.batch, roles.n, roles.m, roles.k)
    return _as_matmul(found, 0, 1, roles) or _as_matmul(found, 1, 0, swapped)


def _mixes_types(operands: Sequence[Value]) -> bool:
    return element(operands[0]) != element(operands[1])


def _as_matmul(found: LinalgLoops, a: int, b: int, roles: Roles) -> MatmulLoops | None:
    columns = [n for n in roles.n if _stride(found, 2, n) == _stride(found, b, n) == 1]
    if not columns or any(_walks(found, loop) > 1 for loop in columns):
        return None
    sizes = _sizes(found)

    def worth(loop: int) -> tuple[float, int]:
        """Prefers the longest loop, and among equals the innermost."""
        return sizes[loop], loop

    return MatmulLoops(
        found,
        a,
        b,
        max(roles.m, key=worth, default=None),
        max(columns, key=worth),
        max(roles.k, key=worth),
    )


def _walks(found: LinalgLoops, loop: int) -> int:
    """The most dimensions of one operand that a loop indexes."""
    return max(sum(1 for index in row if index.factor(loop)) for row in found.indices)


def _sizes(found: LinalgLoops) -> list[float]:
    """Iterations of each loop; an unknown number counts as large."""
    sizes: list[float] = [float("inf")] * found.loops
    for operand, row in zip(found.op.operands, found.indices, strict=True):
        for size, index in zip(operand.type.shape, row, strict=True):
            if index.loop is not None and size != layouts.DYNAMIC:
                sizes[index.loop] = size
    return sizes


def parts(extent: Offset, most: int) -> list[tuple[Offset, Offset, int]]:
    """An extent as pieces of equal size: start, number and size of the pieces."""
    whole = numbers.divide(extent, most)
    start, rest = numbers.multiply(whole, most), numbers.remainder(extent, most)
    found: list[tuple[Offset, Offset, int]] = [(0, whole, most)]
    # A known remainder is one smaller piece; an unknown one consists of single elements.
    found.append((start, 1, rest) if isinstance(rest, int) else (start, rest, 1))
    return [piece for piece in found if piece[1] != 0 and piece[2] != 0]
