# SPDX-License-Identifier: Apache-2.0
"""fill-by-vectors: fills buffers with nonzero values one vector at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.linalg_ops import is_zero
from xtc.ir.builders.control import new_loop
from xtc.ir.builders.numbers import index_constant
from xtc.ir.mlir import (
    InsertionPoint,
    MemRefType,
    Operation,
    StridedLayoutAttr,
    Value,
    VectorType,
    all_operations,
    memref,
    scf,
    vector,
)
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass

_ELEMENTS = ("f32", "f64", "i8", "i16", "i32", "i64")


@dataclass(frozen=True)
class FillByVectors(Pass):
    """Lower a `linalg.fill` to loops over contiguous runs of memory, and over vectors in a run.

    LLVM turns loops that store zeros into `memset`. It unrolls short inner loops that store other
    values completely, and then vectorizes the outer loop with scattered stores.

    Before:
        linalg.fill ins(%v : f32) outs(%a : memref<4x24xf32, strided<[32, 1]>>)
    After:
        scf.for %i = 0 to 4 {
          scf.for %j = 0 to 16 step 16 { vector.store %vs, %a[%i, %j] : vector<16xf32> }
          vector.store %vt, %a[%i, 16] : vector<8xf32> }

    Attributes:
        bits: width of a vector.
    """

    name: ClassVar[str] = "fill-by-vectors"
    bits: int = 128

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        fills = [op for op in all_operations(module) if op.name == "linalg.fill"]
        with module.context:
            for op in fills:
                if _is_for_vectors(op):
                    with op.location:
                        self._rewrite(op)

    def _rewrite(self, fill: Operation) -> None:
        value, target = fill.operands
        ip = InsertionPoint(fill)
        target = _by_runs(target, ip)
        *outer, run = target.type.shape
        offsets: list[Value] = []
        for extent in outer:
            start, ip = _loop(extent, 1, ip)
            offsets.append(start)
        lanes = max(1, self.bits // target.type.element_type.width)
        rest = run % lanes
        if rest:
            _store(value, target, [*offsets, index_constant(run - rest, ip)], rest, ip)
        if run >= lanes:
            start, ip = _loop(run - rest, lanes, ip)
            _store(value, target, [*offsets, start], lanes, ip)
        fill.erase()


def _is_for_vectors(fill: Operation) -> bool:
    value, target = fill.operands
    if not isinstance(target.type, MemRefType) or not target.type.has_static_shape:
        return False
    type = target.type
    if not type.rank or str(type.element_type) not in _ELEMENTS or is_zero(value):
        return False
    strides, _ = type.get_strides_and_offset()
    return bool(strides[-1] == 1 and min(strides) > 0)


def _by_runs(target: Value, ip: InsertionPoint) -> Value:
    """The buffer with contiguous trailing dimensions collapsed."""
    type = target.type
    strides, offset = type.get_strides_and_offset()
    first = _first_of_run(type.shape, strides)
    if first == type.rank - 1:
        return target
    shape = [*type.shape[:first], math.prod(type.shape[first:])]
    layout = StridedLayoutAttr.get(offset, [*strides[:first], 1])
    new = MemRefType.get(shape, type.element_type, layout, type.memory_space)
    if type == MemRefType.get(type.shape, type.element_type, None, type.memory_space):
        new = MemRefType.get(shape, type.element_type, None, type.memory_space)
    groups = [[d] for d in range(first)] + [list(range(first, type.rank))]
    return memref.collapse_shape(new, target, groups, ip=ip)


def _first_of_run(shape: Sequence[int], strides: Sequence[int]) -> int:
    """The first of the contiguous trailing dimensions."""
    first = len(shape) - 1
    while first and strides[first - 1] == strides[first] * shape[first]:
        first -= 1
    return first


def _loop(end: int, step: int, ip: InsertionPoint) -> tuple[Value, InsertionPoint]:
    """The index of a new loop, and the insertion point of its body."""
    loop = new_loop(0, end, step, ip=ip)
    inside = InsertionPoint(loop.op.regions[0].blocks[0])
    return loop.index, InsertionPoint(scf.yield_([], ip=inside))


def _store(
    value: Value, target: Value, offsets: Sequence[Value], lanes: int, ip: InsertionPoint
) -> None:
    type = VectorType.get([lanes], value.type)
    vector.store(vector.broadcast(type, value, ip=ip), target, offsets, ip=ip)
