# SPDX-License-Identifier: Apache-2.0
"""reduce-in-blocks: distributes each row of a reduction over the threads of a block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from xtc.core.errors import CompileError
from xtc.ir.analysis.effects import is_allocation
from xtc.ir.analysis.structured import structured
from xtc.ir.builders.control import BLOCKS, THREADS, loop, parallel
from xtc.ir.builders.numbers import index_constant
from xtc.ir.mlir import (
    InsertionPoint,
    MemRefType,
    Operation,
    OpResult,
    Value,
    all_operations,
    arith,
    memref,
)
from xtc.ir.partition import symbol_of, top_level
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_targets.nvgpu.description import H100
from xtc_targets.nvgpu.passes._epilogue import Epilogue, epilogue_of
from xtc_targets.nvgpu.passes._kernels import GRID, WARP, acting_operations
from xtc_targets.nvgpu.passes._marks import REDUCTION
from xtc_targets.nvgpu.passes._numbered_loops import where_below
from xtc_targets.nvgpu.passes._shuffles import exchanged
from xtc_targets.nvgpu.passes._thread_reductions import Reduction, counters_of, reduction_of

_BUSY = 1024
"""Threads per multiprocessor that hide latency if each reads 4 bytes at a time, a few at once."""

_WITH_FILL, _WITH_EPILOGUE = 2, 3  # operations of a kernel that access memory
_GROUPS = 8  # warps that share the columns of a block


@dataclass(frozen=True)
class ReduceInBlocks(Pass):
    """Distribute the elements of a row over the threads of a block, and combine their results.

    Before:
        linalg.generic {iterator_types = ["parallel", "reduction"]} ins(%a : memref<8x4096xf32, 1>)
          outs(%r : memref<8xf32, 1>) { ... arith.addf ... }
    After:
        scf.parallel (%row) = (0) to (8) { %partial = memref.alloc() : memref<8xf32>
          scf.parallel (%t) = (0) to (256) { sum of elements %t, %t + 256, .. of the row; five
            nvvm.shfl.sync in each warp; the warp's sum to %partial } {mapping = [#gpu.thread<..>]}
          scf.parallel (%t) = (0) to (32) { the same for %partial; the first one adds to %r[%row] }
        } {mapping = [#gpu.block<..>]}

    In strided reductions, the lanes of a warp read adjacent elements of 32 rows, and 8 warps share
    the rows: warp w reduces elements w, w + 8, .., and the first one combines the results in order.

    A reduction that group-reductions grouped with its initial value begins with it, in a register,
    and stores the result. Its short rows are reduced by a thread each:

        scf.parallel (%row) = (0) to (8) { %s = scf.for iter_args(%initial) ; memref.store %s, %r }

    An elementwise operation on the results, the epilogue, is computed in registers before the
    store.

    The order of the reduction changes. Rows of fewer than 32 elements keep their loop. So do
    strided reductions with enough rows for all multiprocessors.

    Attributes:
        sms: multiprocessors that run a kernel.
    """

    name: ClassVar[str] = "reduce-in-blocks"
    sms: int = H100.sms

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        with module.context:
            for kernel in top_level(module):
                is_open = kernel.name == "func.func" and GRID not in kernel.attributes
                if is_open and kernel.regions[0].blocks:
                    self._share(kernel)

    def _share(self, kernel: Operation) -> None:
        group = _group_in(kernel)
        nest = None if group is None else structured(group.op)
        reduction = None if nest is None else reduction_of(nest)
        if group is None or reduction is None:
            _require_no_group(kernel)
            return
        if group.fill is not None:
            reduction = replace(reduction, start=group.fill.operands[0], epilogue=group.epilogue)
        threads = reduction.threads(self.sms * _BUSY)
        if threads == 1 and group.fill is None:
            return
        with reduction.nest.op.location:
            if threads == 1:
                _Threads(reduction).write()
            elif reduction.columns > 1:
                _Columns(reduction).write()
            else:
                _Rows(reduction, threads).write()
        group.erase()


def _require_no_group(kernel: Operation) -> None:
    """Raise CompileError for a group of group-reductions, whose operations would run one after the
    other on a single thread."""
    if any(REDUCTION in op.attributes for op in all_operations(kernel)):
        raise CompileError(
            f"kernel '{symbol_of(kernel)}' is marked as a reduction but is not one",
            where=str(kernel.location),
        )


@dataclass(frozen=True)
class _Group:
    """The operations of a kernel that access memory.

    Attributes:
        op: the reduction.
        fill: the fill of its destination that group-reductions marked.
        epilogue: the operation on its result, likewise.
    """

    op: Operation
    fill: Operation | None = None
    epilogue: Epilogue | None = None

    def erase(self) -> None:
        """Erase the operations, and the buffer of a result that only the epilogue reads."""
        result = self.op.operands[len(self.op.operands) - 1]
        if self.epilogue is not None:
            self.epilogue.nest.op.erase()
        self.op.erase()
        if self.fill is not None:
            self.fill.erase()
        if self.epilogue is not None and isinstance(result, OpResult):
            result.owner.erase()


def _group_in(kernel: Operation) -> _Group | None:
    """The reduction of a kernel, if the kernel has no other operations than those of a group."""
    # A window of a pooling, which is never read, may be a buffer of the kernel.
    acting = [op for op in acting_operations(kernel) if not is_allocation(op)]
    if len(acting) == 1:
        return _Group(acting[0])
    if len(acting) not in (_WITH_FILL, _WITH_EPILOGUE) or acting[0].name != "linalg.fill":
        return None
    fill, op, *more = acting
    result = fill.operands[1]
    if not op.name.startswith("linalg.") or list(op.operands)[-1] != result:
        return None
    if not more:
        return _Group(op, fill)
    nest = structured(more[0])
    if nest is None or REDUCTION not in nest.op.attributes:
        return None
    if not epilogue_of(nest, result, permuted=True):
        return None
    return _Group(op, fill, Epilogue(nest, list(more[0].operands).index(result)))


@dataclass(frozen=True)
class _Threads:
    """Writes a reduction whose rows have a thread each, which begins with the initial value."""

    reduction: Reduction

    def write(self) -> None:
        nest = self.reduction.nest
        ip = InsertionPoint(nest.op)
        if nest.out:
            ranges = [range(nest.extents[row]) for row in nest.out]
            rows, end = parallel(ranges, None, ip)
            ip = InsertionPoint(end)
            counters = dict(zip(nest.out, rows, strict=True))
        else:
            counters = {}
        start = self.reduction.start
        assert start is not None  # noqa: S101  these reductions were grouped with their fill
        self.reduction.store(counters, self._reduced(counters, nest.reductions, start, ip), ip)

    def _reduced(
        self, counters: Mapping[int, Value], loops: Sequence[int], before: Value, ip: InsertionPoint
    ) -> Value:
        """The combination of `before` and the elements that these loops run over, in order."""
        if not loops:
            element = self.reduction.value(counters, ip)
            return self.reduction.combined(before, element, ip)
        first, *others = loops
        with loop(
            index_constant(0, ip), self.reduction.nest.extents[first], 1, [before], ip
        ) as body:
            inner = InsertionPoint.current
            every = {**counters, first: body.index}
            body.following = [self._reduced(every, others, body.carried[0], inner)]
        result: Value = body.results[0]
        return result


@dataclass(frozen=True)
class _Columns:
    """Writes a strided reduction: a block has the adjacent rows that a warp reads side by side."""

    reduction: Reduction

    def write(self) -> None:
        rows, width = self.reduction.rows, self.reduction.columns
        ip = InsertionPoint(self.reduction.nest.op)
        (first,), end = parallel([range(0, rows, width)], BLOCKS, ip)
        ip = InsertionPoint(end)
        shape = [_GROUPS, width]
        partial = memref.alloc(MemRefType.get(shape, self.reduction.type), [], [], ip=ip)
        (thread,), end = parallel([range(_GROUPS * width)], THREADS, ip)
        self._add_up(first, thread, partial, end)
        (thread,), end = parallel([range(width)], THREADS, ip)
        self._finish(first, thread, partial, end)

    def _add_up(self, first: Value, thread: Value, partial: Value, end: Operation) -> None:
        """Reduce the elements of a row that belong to a thread's warp."""
        ip = InsertionPoint(end)
        width = index_constant(self.reduction.columns, ip)
        lane, group = arith.remui(thread, width, ip=ip), arith.divui(thread, width, ip=ip)
        row = arith.addi(first, lane, ip=ip)
        # Lanes beyond the last row repeat it.
        row = arith.minui(row, index_constant(self.reduction.rows - 1, ip), ip=ip)
        begin = arith.addi(group, index_constant(_GROUPS, ip), ip=ip)
        initial = self._element(row, group, ip)
        with loop(begin, self.reduction.length, _GROUPS, [initial], ip) as body:
            inner = InsertionPoint.current
            element = self._element(row, body.index, inner)
            body.following = [self.reduction.combined(body.carried[0], element, inner)]
        memref.store(body.results[0], partial, [group, lane], ip=ip)

    def _finish(self, first: Value, thread: Value, partial: Value, end: Operation) -> None:
        """Combine the results of the warps."""
        row = arith.addi(first, thread, ip=InsertionPoint(end))
        ip = InsertionPoint(where_below(row, self.reduction.rows, InsertionPoint(end)))
        parts = [
            memref.load(partial, [index_constant(group, ip), thread], ip=ip)
            for group in range(_GROUPS)
        ]
        total = parts[0]
        for part in parts[1:]:
            total = self.reduction.combined(total, part, ip)
        self.reduction.accumulate(row, total, ip)

    def _element(self, row: Value, number: Value, ip: InsertionPoint) -> Value:
        nest = self.reduction.nest
        counters = counters_of(nest, nest.out, row, ip)
        return self.reduction.value(counters | counters_of(nest, nest.reductions, number, ip), ip)


@dataclass(frozen=True)
class _Rows:
    """Writes a reduction whose rows are each computed by `threads` threads."""

    reduction: Reduction
    threads: int

    def write(self) -> None:
        ip = InsertionPoint(self.reduction.nest.op)
        if self.reduction.rows > 1:
            (row,), end = parallel([range(self.reduction.rows)], BLOCKS, ip)
            ip = InsertionPoint(end)
        else:
            row = index_constant(0, ip)
        partial = memref.alloc(
            MemRefType.get([self.threads // WARP], self.reduction.type), [], [], ip=ip
        )
        (thread,), end = parallel([range(self.threads)], THREADS, ip)
        self._add_up(row, thread, partial, end)
        (thread,), end = parallel([range(WARP)], THREADS, ip)
        self._finish(row, thread, partial, end)

    def _add_up(self, row: Value, thread: Value, partial: Value, end: Operation) -> None:
        """Reduce a thread's elements, then the results of its warp."""
        ip = InsertionPoint(end)
        first = self._elements(row, thread, ip)
        begin = arith.addi(thread, index_constant(self.threads, ip), ip=ip)
        vectors = self.reduction.length // self.reduction.vector
        with loop(begin, vectors, self.threads, [first], ip) as body:
            inner = InsertionPoint.current
            elements = self._elements(row, body.index, inner)
            body.following = [self.reduction.combined(body.carried[0], elements, inner)]
        total = self._of_lanes(body.results[0], WARP, ip)
        warps = index_constant(WARP, ip)
        lane, warp = arith.remui(thread, warps, ip=ip), arith.divui(thread, warps, ip=ip)
        store = InsertionPoint(where_below(lane, 1, ip))
        memref.store(total, partial, [warp], ip=store)

    def _finish(self, row: Value, thread: Value, partial: Value, end: Operation) -> None:
        """Reduce the results of all warps in the first warp."""
        ip = InsertionPoint(end)
        count = self.threads // WARP
        warp = arith.remui(thread, index_constant(count, ip), ip=ip)
        total = self._of_lanes(memref.load(partial, [warp], ip=ip), count, ip)
        last = InsertionPoint(where_below(thread, 1, ip))
        self.reduction.accumulate(row, total, last)

    def _elements(self, row: Value, number: Value, ip: InsertionPoint) -> Value:
        """The combination of the contiguous elements that are read at once."""
        nest, step = self.reduction.nest, self.reduction.vector
        counters = counters_of(nest, nest.out, row, ip)
        counters |= counters_of(nest, nest.reductions, number, ip, step)
        last = nest.reductions[-1]
        if step == 1:
            return self.reduction.value(counters, ip)
        begin = arith.muli(counters[last], index_constant(step, ip), ip=ip)
        values = []
        for distance in range(step):
            counters[last] = arith.addi(begin, index_constant(distance, ip), ip=ip)
            values.append(self.reduction.value(counters, ip))
        total = values[0]
        for value in values[1:]:
            total = self.reduction.combined(total, value, ip)
        return total

    def _of_lanes(self, value: Value, lanes: int, ip: InsertionPoint) -> Value:
        """The combination of the lanes' values, in each lane."""
        distance = lanes // 2
        while distance:
            value = self.reduction.combined(value, exchanged(value, distance, ip), ip)
            distance //= 2
        return value
