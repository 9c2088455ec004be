# SPDX-License-Identifier: Apache-2.0
"""transpose-row-reductions: computes row reductions on vectors with one row per lane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.function_view import unscheduled_reductions
from xtc.ir.analysis.structured import Structured, labels, shape_of
from xtc.ir.builders.generic import copy_body, generic
from xtc.ir.builders.slices import subview
from xtc.ir.mlir import InsertionPoint, MemRefType, Operation, Value
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_targets.host.passes._row_reductions import RowReduction, row_reduction


@dataclass(frozen=True)
class TransposeRowReductions(Pass):
    """Reduce one row per vector lane, transposing square blocks of the rows in registers.

    Each row is still reduced in order, so no result changes. A block of up to as many rows as a
    register of `bits` has lanes is read row by row and transposed; each of its columns is then one
    step of all the reductions.

    Before:
        linalg.generic ins(%a : memref<8x64xf32>) outs(%s : memref<8xf32>) { s + a }
    After (bits=256):
        scf.for %k = 0 to 64 step 8 iter_args(%sum) {
          %row0 = vector.load %a[0, %k] ... ; %column0 = vector.shuffle ... ; arith.addf ...
        }

    Remaining rows and columns stay a separate operation.
    """

    name: ClassVar[str] = "transpose-row-reductions"
    bits: int = 128

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        with module.context:
            for nest in unscheduled_reductions(module):
                found = row_reduction(nest, self.bits)
                if found is not None:
                    with nest.op.location:
                        _rewrite(found)


def _rewrite(found: RowReduction) -> None:
    nest, lanes = found.nest, found.lanes
    rows, reduction = found.rows, found.reduction
    whole_rows = nest.extents[rows] // lanes * lanes
    whole_reduction = nest.extents[reduction] // lanes * lanes
    with InsertionPoint(nest.op):
        found.write(whole_rows, whole_reduction)
    _part(nest, {rows: (0, whole_rows), reduction: (whole_reduction, nest.extents[reduction])})
    _part(nest, {rows: (whole_rows, nest.extents[rows]), reduction: (0, nest.extents[reduction])})
    nest.op.erase()


def _part(nest: Structured, ranges: Mapping[int, tuple[int, int]]) -> None:
    """Insert a copy of the operation for a part of its iterations, unless the part is empty.

    Each index must be a single loop.
    """
    if any(start == stop for start, stop in ranges.values()):
        return
    ip = InsertionPoint(nest.op)
    operands: list[Value] = []
    for value, row in zip(nest.op.operands, nest.indices, strict=True):
        if not isinstance(value.type, MemRefType):
            operands.append(value)
            continue
        bounds = [
            ranges.get(index.loop, (0, size)) if index.loop is not None else (0, size)
            for index, size in zip(row, shape_of(value), strict=True)
        ]
        sizes = [stop - start for start, stop in bounds]
        starts = [start for start, _ in bounds]
        operands.append(subview(value, starts, sizes, [1] * len(row), ip))
    _copy(nest, operands, ip)


def _copy(nest: Structured, operands: Sequence[Value], ip: InsertionPoint) -> None:
    pairs = list(zip(operands, nest.indices, strict=True))
    op = generic(pairs, len(nest.extents), nest.reductions, labels(nest.op), ip)
    copy_body(nest.op, op)
