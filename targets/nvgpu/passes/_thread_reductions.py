# SPDX-License-Identifier: Apache-2.0
"""Reductions that may be reordered, and the threads that share a row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xtc.ir.analysis.structured import Structured, body_operations, element_bits
from xtc.ir.builders.affine import delinearized
from xtc.ir.mlir import InsertionPoint, Operation, Type, Value, memref
from xtc_targets.nvgpu.description import ACCESS_BYTES
from xtc_targets.nvgpu.passes import _elements as elements
from xtc_targets.nvgpu.passes._epilogue import Epilogue
from xtc_targets.nvgpu.passes._kernels import WARP

_COMBINING = frozenset(
    f"arith.{name}"
    for name in (
        *("addf", "mulf", "maximumf", "minimumf", "maxnumf", "minnumf"),
        *("addi", "muli", "maxsi", "minsi", "maxui", "minui", "andi", "ori"),
    )
)
_PURE = ("arith.", "math.", "linalg.index", "tensor.extract", "memref.load")
_MOST = 256  # threads per row: eight warps
_EACH = 4  # minimum elements per thread, if more threads than a warp share a row


@dataclass(frozen=True, eq=False)
class Reduction:
    """Each element of the result is combined with all elements of a row.

    Attributes:
        nest: the structured op.
        combine: the operation that combines the accumulator with an element.
        element: the value of that element in the body.
        start: the initial value of each result; None if the result has it.
        epilogue: an operation on the results, which are not stored then.
    """

    nest: Structured
    combine: Operation
    element: Value
    start: Value | None = None
    epilogue: Epilogue | None = None

    @property
    def rows(self) -> int:
        """The number of rows."""
        return math.prod(self.nest.extents[loop] for loop in self.nest.out)

    @property
    def length(self) -> int:
        """Elements per row."""
        return math.prod(self.nest.extents[loop] for loop in self.nest.reductions)

    @property
    def crosses_rows(self) -> bool:
        """Whether the reduction is strided: adjacent results read adjacent elements."""
        inputs = range(self.nest.destination)
        last, along = self.nest.reductions[-1], self.nest.last_parallel_loop
        return along is not None and any(
            self.nest.is_contiguous(n, along) and not self.nest.is_contiguous(n, last)
            for n in inputs
        )

    @property
    def columns(self) -> int:
        """The number of adjacent rows of a strided reduction that a warp reads side by side; 1 if
        there are fewer, and for other reductions."""
        along = self.nest.last_parallel_loop
        is_wide = along is not None and self.nest.extents[along] >= WARP
        return WARP if self.crosses_rows and is_wide else 1

    def threads(self, most_rows: int) -> int:
        """The number of threads that share a row; 1 if each thread reduces a row.

        In a strided reduction, threads with a row each read contiguous elements: they need not
        share rows if there are at least `most_rows`.
        """
        if self.length < WARP or (self.crosses_rows and self.rows >= most_rows):
            return 1
        threads, each = WARP, max(_EACH, self.vector)
        while threads < _MOST and 2 * threads * each <= self.length:
            threads *= 2
        return threads

    @property
    def vector(self) -> int:
        """The number of contiguous elements of a row that a thread reads at once."""
        last = self.nest.reductions[-1]
        inputs = [n for n in range(self.nest.destination) if self.nest.uses_loop(n, last)]
        widest = max((element_bits(self.nest.op.operands[n]) for n in inputs), default=64)
        lanes = 8 * ACCESS_BYTES // max(8, widest)
        fits = self.nest.extents[last] % lanes == 0 and self.length >= lanes * WARP
        side_by_side = all(self.nest.is_contiguous(n, last) for n in inputs)
        return lanes if fits and side_by_side else 1

    def value(self, counters: Mapping[int, Value], ip: InsertionPoint) -> Value:
        """The element of a row that the body computes at these loop indices."""
        values = elements.inputs(self.nest, counters, ip)
        *ops, _ = body_operations(self.nest.op)
        elements.compute([op for op in ops if op != self.combine], values, counters, ip)
        return values.get(self.element, self.element)

    @property
    def type(self) -> Type:
        """The type of an element of the result."""
        return self.combine.results[0].type

    def accumulate(self, row: Value, total: Value, ip: InsertionPoint) -> None:
        """Combine `total` with the result of row number `row`."""
        counters = counters_of(self.nest, self.nest.out, row, ip)
        before = self.start
        if before is None:
            before = memref.load(*self._destination(counters, ip), ip=ip)
        self.store(counters, self.combined(before, total, ip), ip)

    def store(self, counters: Mapping[int, Value], total: Value, ip: InsertionPoint) -> None:
        """Store the result at these loop indices, or what the epilogue computes from it."""
        buffer, indices = self._destination(counters, ip)
        if self.epilogue is None:
            memref.store(total, buffer, indices, ip=ip)
        else:
            self.epilogue.store(indices, total, ip)

    def _destination(
        self, counters: Mapping[int, Value], ip: InsertionPoint
    ) -> tuple[Value, list[Value]]:
        return elements.location(self.nest, self.nest.destination, counters, ip)

    def combined(self, a: Value, b: Value, ip: InsertionPoint) -> Value:
        """The combination of two values."""
        copy = self.combine.clone(ip=ip).operation
        copy.operands[0], copy.operands[1] = a, b
        return copy.results[0]


def reduction_of(nest: Structured) -> Reduction | None:
    """The operation as a reduction that may be reordered; None for others."""
    ops = body_operations(nest.op)
    total = ops[-1].operands[0]
    combine = next((op for op in ops if total in op.results), None)
    accumulator = nest.body.arguments[nest.destination]
    if not nest.reductions or combine is None or combine.name not in _COMBINING:
        return None
    uses = list(accumulator.uses)
    if len(uses) != 1 or uses[0].owner.operation != combine:
        return None
    if any(op.regions or not op.name.startswith(_PURE) for op in ops[:-1]):
        return None
    return Reduction(nest, combine, combine.operands[1 - uses[0].operand_number])


def counters_of(
    nest: Structured, loops: Sequence[int], number: Value, ip: InsertionPoint, step: int = 1
) -> dict[int, Value]:
    """The loop indices of iteration `number`; the last one varies fastest, by `step`."""
    sizes = [nest.extents[loop] for loop in loops]
    if sizes:
        sizes[-1] //= step
    return dict(zip(loops, delinearized(number, sizes, ip), strict=True))
