# SPDX-License-Identifier: Apache-2.0
"""reduce-in-blocks: the threads of a block share each row of a reduction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.structured import structured
from xtc.ir.builders.numbers import index_constant
from xtc.ir.mlir import (
    Attribute,
    Block,
    DenseI32ArrayAttr,
    IndexType,
    InsertionPoint,
    MemRefType,
    Operation,
    Type,
    Value,
)
from xtc.ir.partition import top_level
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_targets.nvgpu.description import H100
from xtc_targets.nvgpu.passes._kernels import GRID, WARP, only_operation
from xtc_targets.nvgpu.passes._numbered_loops import binary, where_below
from xtc_targets.nvgpu.passes._shuffles import exchanged
from xtc_targets.nvgpu.passes._thread_reductions import Reduction, counters_of, reduction_of

_BUSY = 256  # threads of a multiprocessor that hide each other's latency
_BLOCKS = "[#gpu.block<linear_dim_0>]"
_THREADS = "[#gpu.thread<linear_dim_0>]"


@dataclass(frozen=True)
class ReduceInBlocks(Pass):
    """Distribute the elements of a row over the threads of a block, then combine their results.

    Before:
        linalg.generic {iterator_types = ["parallel", "reduction"]} ins(%a : memref<8x4096xf32, 1>)
          outs(%r : memref<8xf32, 1>) { ... arith.addf ... }
    After:
        scf.parallel (%row) = (0) to (8) { %partial = memref.alloc() : memref<8xf32>
          scf.parallel (%t) = (0) to (256) { sum of elements %t, %t + 256, .. of the row; five
            nvvm.shfl.sync in each warp; the warp's sum to %partial } {mapping = [#gpu.thread<..>]}
          scf.parallel (%t) = (0) to (32) { the same for %partial; the first one adds to %r[%row] }
        } {mapping = [#gpu.block<..>]}

    The order of the reduction changes. Rows of fewer than 32 elements keep their loop, as do rows
    whose threads would not read contiguous elements if there are enough of them for all
    multiprocessors.

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
        op = only_operation(kernel)
        nest = None if op is None else structured(op)
        reduction = None if nest is None else reduction_of(nest)
        if reduction is None:
            return
        threads = reduction.threads(self.sms * _BUSY)
        if threads > 1:
            with reduction.nest.op.location:
                _Rows(reduction, threads).write()
            reduction.nest.op.erase()


@dataclass(frozen=True)
class _Rows:
    """Rows of a reduction, each done by so many threads."""

    reduction: Reduction
    threads: int

    def write(self) -> None:
        ip = InsertionPoint(self.reduction.nest.op)
        if self.reduction.rows > 1:
            row, end = _parallel(self.reduction.rows, _BLOCKS, ip)
            ip = InsertionPoint(end)
        else:
            row = index_constant(0, ip)
        partial = _buffer(self.threads // WARP, self._type, ip)
        thread, end = _parallel(self.threads, _THREADS, ip)
        self._sum_up(row, thread, partial, end)
        thread, end = _parallel(WARP, _THREADS, ip)
        self._finish(row, thread, partial, end)

    @property
    def _type(self) -> Type:
        return self.reduction.combine.results[0].type

    def _sum_up(self, row: Value, thread: Value, partial: Value, end: Operation) -> None:
        """What a thread does: its elements, then those of its warp."""
        ip = InsertionPoint(end)
        first = self._elements(row, thread, ip)
        bounds = [
            binary("arith.addi", thread, index_constant(self.threads, ip), ip),
            index_constant(self.reduction.length // self.reduction.vector, ip),
            index_constant(self.threads, ip),
        ]
        loop = Operation.create("scf.for", [self._type], [*bounds, first], regions=1, ip=ip)
        body = loop.regions[0].blocks.append(IndexType.get(), self._type)
        inner = InsertionPoint(body)
        elements = self._elements(row, body.arguments[0], inner)
        total = self.reduction.combined(body.arguments[1], elements, inner)
        Operation.create("scf.yield", operands=[total], ip=inner)
        total = self._of_lanes(loop.results[0], WARP, ip)
        warps = index_constant(WARP, ip)
        lane, warp = (binary(f"arith.{do}ui", thread, warps, ip) for do in ("rem", "div"))
        store = InsertionPoint(where_below(lane, 1, ip))
        Operation.create("memref.store", operands=[total, partial, warp], ip=store)

    def _finish(self, row: Value, thread: Value, partial: Value, end: Operation) -> None:
        """What the first warp does: the sums of all warps."""
        ip = InsertionPoint(end)
        count = self.threads // WARP
        place = binary("arith.remui", thread, index_constant(count, ip), ip)
        total = Operation.create("memref.load", [self._type], [partial, place], ip=ip).results[0]
        total = self._of_lanes(total, count, ip)
        last = InsertionPoint(where_below(thread, 1, ip))
        counters = counters_of(self.reduction.nest, self.reduction.nest.out, row, last)
        at = self.reduction.place(counters, last)
        before = Operation.create("memref.load", [self._type], list(at), ip=last).results[0]
        total = self.reduction.combined(before, total, last)
        Operation.create("memref.store", operands=[total, *at], ip=last)

    def _elements(self, row: Value, number: Value, ip: InsertionPoint) -> Value:
        """Neighbouring elements of a row, as many as are read at once, in one."""
        nest, step = self.reduction.nest, self.reduction.vector
        counters = counters_of(nest, nest.out, row, ip)
        counters |= counters_of(nest, nest.reductions, number, ip, step)
        last = nest.reductions[-1]
        if step == 1:
            return self.reduction.value(counters, ip)
        begin = binary("arith.muli", counters[last], index_constant(step, ip), ip)
        values = []
        for distance in range(step):
            counters[last] = binary("arith.addi", begin, index_constant(distance, ip), ip)
            values.append(self.reduction.value(counters, ip))
        total = values[0]
        for value in values[1:]:
            total = self.reduction.combined(total, value, ip)
        return total

    def _of_lanes(self, value: Value, lanes: int, ip: InsertionPoint) -> Value:
        """The values of neighbouring lanes in one; each of them gets it."""
        distance = lanes // 2
        while distance:
            value = self.reduction.combined(value, exchanged(value, distance, ip), ip)
            distance //= 2
        return value


def _parallel(count: int, mapping: str, ip: InsertionPoint) -> tuple[Value, Operation]:
    """A new loop of `count` iterations: its counter, and the end of its body."""
    bounds = [index_constant(number, ip) for number in (0, count, 1)]
    attributes: dict[str, Attribute] = {
        "mapping": Attribute.parse(mapping),
        "operandSegmentSizes": DenseI32ArrayAttr.get([1, 1, 1, 0]),
    }
    loop = Operation.create("scf.parallel", [], bounds, attributes, regions=1, ip=ip)
    body: Block = loop.regions[0].blocks.append(IndexType.get())
    return body.arguments[0], Operation.create("scf.reduce", ip=InsertionPoint(body))


def _buffer(elements: int, type: Type, ip: InsertionPoint) -> Value:
    sizes = {"operandSegmentSizes": DenseI32ArrayAttr.get([0, 0])}
    memref = MemRefType.get([elements], type)
    return Operation.create("memref.alloc", [memref], attributes=sizes, ip=ip).results[0]
