# SPDX-License-Identifier: Apache-2.0
"""split-reductions: splits long rows into parts if there are too few rows to occupy all blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.indices import Index
from xtc.ir.analysis.node_names import node_attributes
from xtc.ir.analysis.structured import Structured, shape_of
from xtc.ir.attributes import DEVICE
from xtc.ir.builders.generic import copy_body, generic, yield_
from xtc.ir.mlir import (
    FloatAttr,
    InsertionPoint,
    IntegerAttr,
    Operation,
    OpResult,
    Value,
)
from xtc_targets.nvgpu.passes._loop_parts import MOST_PARTS, combined_parts, cut, cut_row, wider
from xtc_targets.nvgpu.passes._nest_pass import NestPass
from xtc_targets.nvgpu.passes._thread_reductions import Reduction, reduction_of

_MIN_PART = 2048  # elements per part: eight per thread of a block
_MIN_COLUMN_PART = 64  # of a strided reduction: eight per warp of a block
_BLOCKS_PER_SM = 4  # resident at the same time
_COLUMN_BLOCKS_PER_SM = 8  # likewise, of strided reductions, whose threads read 4 bytes at a time
_NEUTRAL = {"arith.addf": 0, "arith.addi": 0, "arith.mulf": 1, "arith.muli": 1}


@dataclass(frozen=True)
class SplitReductions(NestPass):
    """Reduce parts of rows, then the partial results, if there are fewer rows than blocks.

    Before:
        linalg.generic {iterator_types = ["reduction", "reduction"]}
          ins(%a : tensor<4096x4096xf32>) outs(%zero : tensor<f32>)
    After:
        %b = tensor.expand_shape %a : tensor<512x8x4096xf32>
        %parts = linalg.generic {["parallel", "reduction", "reduction"]} ins(%b) outs(%zeros)
        linalg.generic {["reduction"]} ins(%parts : tensor<512xf32>) outs(%zero)

    The order of the reduction changes. Parts have equal sizes; a row that cannot be divided into
    equal parts of 2048 elements or more stays whole. In a strided reduction, parts have 64 elements
    or more, since a block has 32 rows, and are the outermost dimension of their results.

    Attributes:
        sms: multiprocessors that run a kernel.
    """

    name: ClassVar[str] = "split-reductions"

    def rewrite(self, nest: Structured) -> None:
        reduction = reduction_of(nest)
        if reduction is not None and _starts_neutral(reduction):
            self._split(reduction)

    def _split(self, reduction: Reduction) -> None:
        nest = reduction.nest
        most = _most_parts(reduction, self.sms)
        for loop in nest.reductions:
            extent = nest.extents[loop]
            parts = next((n for n in range(most, 1, -1) if extent % n == 0), 1)
            if parts > 1 and _is_plain(nest, loop):
                with nest.op.location:
                    _write(reduction, loop, parts)
                nest.op.erase()
                return


def _most_parts(reduction: Reduction, sms: int) -> int:
    """The number of parts that occupies all multiprocessors, or a smaller one for short rows."""
    if reduction.columns > 1:
        blocks = -(-reduction.rows // reduction.columns)
        wanted = min(-(-_COLUMN_BLOCKS_PER_SM * sms // blocks), MOST_PARTS)
        return min(wanted, reduction.length // _MIN_COLUMN_PART)
    return min(-(-_BLOCKS_PER_SM * sms // reduction.rows), reduction.length // _MIN_PART)


def _starts_neutral(reduction: Reduction) -> bool:
    """Whether every part may start from the initial value of the whole reduction."""
    nest = reduction.nest
    start = nest.op.operands[nest.destination]
    if not isinstance(start, OpResult) or start.owner.name != "linalg.fill":
        return False
    value = start.owner.operands[0]
    if reduction.combine.name not in _NEUTRAL:  # the other combinations are idempotent
        return True
    if not isinstance(value, OpResult) or value.owner.name != "arith.constant":
        return False
    given = value.owner.attributes["value"]
    known = isinstance(given, FloatAttr | IntegerAttr)
    return known and given.value == _NEUTRAL[reduction.combine.name]


def _is_plain(nest: Structured, loop: int) -> bool:
    """Whether every index that uses the loop is that loop alone."""
    return all(index.loop == loop for row in nest.indices for index in row if index.factor(loop))


def _write(reduction: Reduction, loop: int, parts: int) -> None:
    """Insert the reductions of the parts, then the reduction of their results."""
    nest = reduction.nest
    ip = InsertionPoint(nest.op)
    count = len(nest.extents)
    part = Index(((count, 1),), 0)
    operands: list[tuple[Value, list[Index]]] = []
    for value, old in list(zip(nest.op.operands, nest.indices, strict=True))[:-1]:
        operands.append((cut(value, old, loop, parts, ip), cut_row(old, loop, part)))
    start = nest.op.operands[nest.destination]
    own = list(nest.indices[nest.destination])
    device = {name: value for name, value in node_attributes(nest.op).items() if name == DEVICE}
    crosses = reduction.columns > 1  # then adjacent results have adjacent elements
    shape = list(shape_of(start))
    zeros = wider(start, [parts, *shape] if crosses else [*shape, parts], ip)
    rows = [part, *own] if crosses else [*own, part]
    first = generic([*operands, (zeros, rows)], count + 1, nest.reductions, device, ip)
    copy_body(nest.op, first)
    if crosses:
        total = combined_parts(first.results[0], node_attributes(nest.op), reduction.combined, ip)
    else:
        total = _reduced(reduction, first.results[0], ip)
    nest.op.results[0].replace_all_uses_with(total)


def _reduced(reduction: Reduction, partial: Value, ip: InsertionPoint) -> Value:
    """Reduce the partial results, which the last dimension numbers."""
    nest = reduction.nest
    rank = len(nest.out)
    row = [Index(((loop, 1),), 0) for loop in range(rank)]
    operands = [
        (partial, [*row, Index(((rank, 1),), 0)]),
        (nest.op.operands[nest.destination], row),
    ]
    op = generic(operands, rank + 1, [rank], node_attributes(nest.op), ip)
    _combine(reduction, op)
    return op.results[0]


def _combine(reduction: Reduction, op: Operation) -> None:
    body = op.regions[0].blocks[0]
    ip = InsertionPoint(body)
    total = reduction.combined(body.arguments[1], body.arguments[0], ip)
    yield_([total], ip)
