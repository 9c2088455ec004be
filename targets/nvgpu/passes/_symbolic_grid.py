# SPDX-License-Identifier: Apache-2.0
"""Parallel loops whose first extent is known only at launch: the host computes the grid."""

from __future__ import annotations

import math
from dataclasses import dataclass

from xtc.ir.attributes import LAUNCH_GRID
from xtc.ir.builders.numbers import multiply
from xtc.ir.mlir import (
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineMapAttr,
    BlockArgument,
    DenseI32ArrayAttr,
    DenseI64ArrayAttr,
    InsertionPoint,
    Operation,
    ShapedType,
    Value,
)
from xtc_passes.offload.lower_device_commands import INTEGERS
from xtc_targets.nvgpu.passes._kernels import set_shape
from xtc_targets.nvgpu.passes._numbered_loops import known, move_body, where_below


@dataclass(frozen=True)
class SymbolicLoop:
    """A parallel loop from 0, by steps of 1, whose first extent is a kernel argument.

    Attributes:
        loop: the scf.parallel.
        size: the argument, an index.
        inner: the other extents.
    """

    loop: Operation
    size: Value
    inner: tuple[int, ...]

    @staticmethod
    def of(loop: Operation, kernel: Operation) -> SymbolicLoop | None:
        """The loop of a kernel; None if it does not have this form."""
        rank = len(loop.regions[0].blocks[0].arguments)
        numbers = [known(value) for value in loop.operands]
        starts, ends, steps = (numbers[n * rank : (n + 1) * rank] for n in range(3))
        inner = tuple(end for end in ends[1:] if end is not None)
        size = _size(loop.operands[rank])
        regular = starts == [0] * rank and steps == [1] * rank and not len(loop.results)
        if not regular or len(inner) != rank - 1 or not _is_argument(size, kernel):
            return None
        return SymbolicLoop(loop, size, inner)

    def distribute(self, kernel: Operation, number: Value, threads: int) -> None:
        """Map iteration `number` to the thread with this number; the loop is left empty.

        The kernel gets `nvgpu.grid = [0, 0, 0]`, which the launch replaces, and `xtc.grid`, from
        which the host computes it.
        """
        ip = InsertionPoint(self.loop)
        each = math.prod(self.inner)
        end = where_below(number, multiply(self.size, each, ip), ip)
        move_body(self.loop, [None, *(range(size) for size in self.inner)], number, end)
        set_shape(kernel, [0, 0, 0], [threads])
        arguments = [a for a in kernel.regions[0].blocks[0].arguments if str(a.type) in INTEGERS]
        blocks = AffineExpr.get_ceil_div(
            AffineDimExpr.get(arguments.index(self.size)) * each, threads
        )
        single = AffineExpr.get_constant(1)
        grid = AffineMap.get(len(arguments), 0, [blocks, single, single])
        kernel.attributes[LAUNCH_GRID] = AffineMapAttr.get(grid)


def _size(value: Value) -> Value:
    """The result of a memref.dim, if a reinterpret_cast defines the sizes of its memref."""
    if isinstance(value, BlockArgument) or value.owner.name != "memref.dim":
        return value
    source, dimension = value.owner.operands
    cast = None if isinstance(source, BlockArgument) else source.owner
    position = known(dimension)
    if cast is None or cast.name != "memref.reinterpret_cast" or position is None:
        return value
    _, offsets, _, _ = DenseI32ArrayAttr(cast.attributes["operandSegmentSizes"])
    sizes = list(DenseI64ArrayAttr(cast.attributes["static_sizes"]))
    if sizes[position] != ShapedType.get_dynamic_size():
        return value
    dynamic = sizes[:position].count(ShapedType.get_dynamic_size())
    found: Value = cast.operands[1 + offsets + dynamic]
    return found


def _is_argument(value: Value, kernel: Operation) -> bool:
    return isinstance(value, BlockArgument) and value.owner == kernel.regions[0].blocks[0]
