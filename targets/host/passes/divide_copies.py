# SPDX-License-Identifier: Apache-2.0
"""divide-copies: divides large copies into dense parts, which threads share."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xtc.ir.analysis.structured import type_bits
from xtc.ir.builders.control import forall, new_loop
from xtc.ir.builders.numbers import Number, multiply
from xtc.ir.builders.slices import subview
from xtc.ir.mlir import (
    InsertionPoint,
    MemRefType,
    Operation,
    Value,
    all_operations,
    memref,
    scf,
)
from xtc.ir.passes import Pass

_RUN = 4096  # least bytes of a dense part for which a call of the C library pays
_PARTS = 16  # most parts of a copy that threads share


@dataclass(frozen=True)
class DivideCopies(Pass):
    """Divide copies of strided memory, such as into a part of a larger array, into dense ones.

    The C library copies dense parts at memory speed, and threads share them. In a step of a
    language model, copies of the keys and values of earlier tokens are a tenth of all bytes.

    Before:
        memref.copy %old, %part
            : memref<12x512x64xf32> to memref<12x512x64xf32, strided<[32832, 64, 1]>>
    After:
        scf.forall (%i) in (12) {
          memref.copy %old[%i], %part[%i] : memref<512x64xf32, strided<[64, 1], offset: ?>> to .. }

    Attributes:
        parallel: whether threads may share copies.
        shared: least bytes of a copy that threads share.
    """

    name: ClassVar[str] = "divide-copies"
    parallel: bool = True
    shared: int = 1 << 19

    def run(self, module: Operation) -> None:
        with module.context:
            for op in all_operations(module):
                if op.name == "memref.copy" and _is_static(op):
                    with op.location:
                        self._divide(op)

    def _divide(self, copy: Operation) -> None:
        source, target = copy.operands
        shape = tuple(MemRefType(source.type).shape)
        outer = len(shape) - _dense_dims(source, target)
        run = prod(shape[outer:]) * type_bits(source.type) // 8
        is_shared = self.parallel and prod(shape[:outer]) * run >= self.shared
        if run < _RUN or not (outer or is_shared) or _is_in_parallel(copy):
            return
        ip = InsertionPoint(copy)
        if is_shared:
            source, target, ip = _shared(source, target, ip)
        _copy(source, target, outer, ip)
        copy.erase()


def _is_static(copy: Operation) -> bool:
    """Whether the sizes and strides of both sides are static."""
    types = [MemRefType(operand.type) for operand in copy.operands]
    return all(type.has_static_shape for type in types) and not any(
        stride < 0 for type in types for stride in type.get_strides_and_offset()[0]
    )


def _is_in_parallel(copy: Operation) -> bool:
    around = copy.parent
    while around is not None and around.name != "scf.forall":
        around = around.parent
    return around is not None


def _dense_dims(source: Value, target: Value) -> int:
    """The number of trailing dimensions that are dense on both sides."""
    shape = MemRefType(source.type).shape
    strides = [MemRefType(value.type).get_strides_and_offset()[0] for value in (source, target)]
    elements = 1
    for count, dim in enumerate(reversed(range(len(shape)))):
        if shape[dim] != 1 and any(steps[dim] != elements for steps in strides):
            return count
        elements *= shape[dim]
    return len(shape)


def _shared(
    source: Value, target: Value, ip: InsertionPoint
) -> tuple[Value, Value, InsertionPoint]:
    """Parts of both sides in a parallel loop over the first dimension, and its body."""
    shape = MemRefType(source.type).shape
    dim = next((dim for dim, size in enumerate(shape) if size > 1), 0)
    count = _parts(shape[dim])
    size = shape[dim] // count
    loop = forall(count, None, [], ip)
    start = multiply(loop.number, size, loop.ip)
    return (*(_window(value, dim, start, size, loop.ip) for value in (source, target)), loop.ip)


def _parts(extent: int) -> int:
    """The largest number of equal parts up to _PARTS, or of single elements if there is none."""
    return next((count for count in range(_PARTS, 1, -1) if extent % count == 0), extent)


def _copy(source: Value, target: Value, outer: int, ip: InsertionPoint) -> None:
    """Copy dense parts, in loops over the first `outer` dimensions."""
    for dim in range(outer):
        size = MemRefType(source.type).shape[dim]
        if size > 1:
            loop = new_loop(0, size, 1, ip=ip)
            body = InsertionPoint(loop.op.regions[0].blocks[0])
            ip = InsertionPoint(scf.yield_([], ip=body))
            source, target = (_window(value, dim, loop.index, 1, ip) for value in (source, target))
    memref.copy(source, target, ip=ip)


def _window(value: Value, dim: int, start: Number, size: int, ip: InsertionPoint) -> Value:
    """A part of one dimension, and all of the others."""
    shape = list(MemRefType(value.type).shape)
    sizes = [size if number == dim else extent for number, extent in enumerate(shape)]
    offsets = [start if number == dim else 0 for number in range(len(shape))]
    return subview(value, offsets, sizes, [1] * len(shape), ip)
