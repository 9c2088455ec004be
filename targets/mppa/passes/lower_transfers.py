# SPDX-License-Identifier: Apache-2.0
"""lower-transfers: transfers become calls of `dev_dma_2d` and `dev_dma_wait`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.core.mlir import IndexType, InsertionPoint, Operation, Value
from xtc.core.passes import Pass
from xtc_passes._build import Offset
from xtc_passes._linalg import all_operations
from xtc_targets.mppa.passes import _control as control
from xtc_targets.mppa.passes import _device as device
from xtc_targets.mppa.passes import _views as views
from xtc_targets.mppa.passes._effects import dma_tag, dma_target

_GET, _PUT = 0, 1  # dev_direction
_NONE = 0  # no transfer has this number


@dataclass(frozen=True)
class LowerTransfers(Pass):
    """Say of each `memref.dma_start` which rows of bytes the DMA moves, and how far they are apart.

    Before:
        memref.dma_start %A[..], %a[..], %n, %tags[%i] : memref<8x8xf32, strided<[64, 1]>, 1>, ..
    After:
        %t = call @dev_dma_2d(%get, %to, %c32, %from, %c256, %c32, %c8) : (i32, index, ..) -> i32
        memref.store %t, %tags[%i]

    Dimensions that have no gap between them on either side are one. The innermost is a row, where
    its elements are neighbours on both sides; otherwise a row is one element. The largest of the
    others counts the rows. For what is left there are loops of transfers, in which each is waited
    for when the next one has been started, so that the DMA always has work. A transfer whose size
    is known at run time only may be empty: then it is none, and the tag is 0.
    """

    name: ClassVar[str] = "lower-transfers"

    def run(self, module: Operation) -> None:
        with module.context:
            index = IndexType.get()
            types = [device.i32(), *[index] * 6]
            device.declare(module, device.DMA, types, [device.i32()])
            device.declare(module, device.WAIT, [device.i32()])
            for kernel in device.kernels(module):
                ops = all_operations(kernel)
                starts = [op for op in ops if op.name == "memref.dma_start"]
                unsure = {dma_tag(op)[0] for op in starts if _may_be_empty(op)}
                for op in ops:
                    if op.name not in ("memref.dma_start", "memref.dma_wait"):
                        continue
                    with op.location, InsertionPoint(op):
                        if op.name == "memref.dma_start":
                            _start(op)
                        else:
                            _wait(op, dma_tag(op)[0] in unsure)
                    op.erase()


@dataclass(frozen=True)
class _Dimension:
    """A size, and the distance of neighbours on both sides, in elements."""

    size: Offset
    smem: int
    ddr: int


def _may_be_empty(start: Operation) -> bool:
    return not dma_target(start).type.has_static_shape


def _wait(op: Operation, unsure: bool) -> None:
    tags, number = dma_tag(op)
    transfer = Operation.create(
        "memref.load", results=[device.i32()], operands=[tags, number]
    ).results[0]
    is_one = control.differs(transfer, control.constant(_NONE, device.i32())) if unsure else True
    with control.branch(is_one):
        device.call(device.WAIT, [transfer])


def _start(op: Operation) -> None:
    source, target = op.operands[0], dma_target(op)
    get = device.is_local(target)
    smem, ddr = (views.place(one) for one in ((target, source) if get else (source, target)))
    dims = [_Dimension(*one) for one in zip(smem.sizes, smem.strides, ddr.strides, strict=True)]
    row, others = _rows(dims)
    calls = _Calls(_GET if get else _PUT, smem, ddr, row, *dma_tag(op))
    if not _may_be_empty(op):
        calls.make(others)
        return
    calls.store(control.constant(_NONE, device.i32()))
    count: Offset = 1
    for size in smem.sizes:
        count = control.multiply(count, size)
    with control.branch(control.less(0, count)):
        calls.make(others)


def _rows(dims: list[_Dimension]) -> tuple[Offset, list[_Dimension]]:
    """The elements of a row, and the dimensions that are left, merged."""
    merged: list[_Dimension] = []
    for dim in dims:
        if dim.size == 1:
            continue
        last = merged[-1] if merged else None
        if last is not None and _is_dense(last, dim):
            merged[-1] = _Dimension(control.multiply(last.size, dim.size), dim.smem, dim.ddr)
        else:
            merged.append(dim)
    if merged and merged[-1].smem == merged[-1].ddr == 1:
        return merged[-1].size, merged[:-1]
    return 1, merged


def _is_dense(outer: _Dimension, inner: _Dimension) -> bool:
    """Whether one dimension goes on where the other ends, on both sides."""
    if not isinstance(inner.size, int):
        return False
    return (outer.smem, outer.ddr) == (inner.size * inner.smem, inner.size * inner.ddr)


@dataclass(frozen=True)
class _Calls:
    """Makes the calls of one transfer, of rows with so many elements."""

    direction: int
    smem: views.Place
    ddr: views.Place
    row: Offset
    tags: Value
    number: Value

    def make(self, dims: list[_Dimension]) -> None:
        counted = max(dims, key=self._worth, default=None)
        outer = [dim for dim in dims if dim is not counted]
        if not outer:
            self.store(self._call(0, 0, counted))
            return
        self.store(control.constant(_NONE, device.i32()))
        self._nest(outer, 0, 0, counted)

    def _worth(self, dim: _Dimension) -> int:
        """How many rows a transfer gets: as many as there are, where they do not overlap."""
        if isinstance(self.row, int) and min(dim.smem, dim.ddr) < self.row:
            return -1
        return dim.size if isinstance(dim.size, int) else 0

    def _nest(
        self, outer: list[_Dimension], smem: Offset, ddr: Offset, rows: _Dimension | None
    ) -> None:
        """A loop for each dimension; innermost, the transfer before is waited for."""
        if not outer:
            before = Operation.create(
                "memref.load", results=[device.i32()], operands=[self.tags, self.number]
            ).results[0]
            self.store(self._call(smem, ddr, rows))
            with control.branch(control.differs(before, control.constant(_NONE, device.i32()))):
                device.call(device.WAIT, [before])
            return
        dim, *rest = outer
        with control.loop(0, dim.size, 1) as index:
            self._nest(
                rest,
                control.add(smem, control.multiply(index, dim.smem)),
                control.add(ddr, control.multiply(index, dim.ddr)),
                rows,
            )

    def _call(self, smem: Offset, ddr: Offset, rows: _Dimension | None) -> Value:
        nbytes = self.smem.element_bytes
        row_bytes = control.value(control.multiply(self.row, nbytes))
        strides = [row_bytes] * 2
        if rows is not None:
            strides = [control.constant(one * nbytes) for one in (rows.smem, rows.ddr)]
        operands = [
            control.constant(self.direction, device.i32()),
            self.smem.address(smem),
            strides[0],
            self.ddr.address(ddr),
            strides[1],
            row_bytes,
            control.value(rows.size if rows is not None else 1),
        ]
        return device.call(device.DMA, operands, [device.i32()]).results[0]

    def store(self, transfer: Value) -> None:
        operands = [transfer, self.tags, self.number]
        Operation.create("memref.store", operands=operands)
