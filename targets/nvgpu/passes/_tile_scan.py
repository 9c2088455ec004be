# SPDX-License-Identifier: Apache-2.0
"""Scans along a dimension of a tile: in each step, elements at twice the distance (Hillis and
Steele, "Data parallel algorithms", CACM 1986), through shared memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xtc.ir.builders.numbers import Number, add, compare, maximum
from xtc.ir.builders.tile import number_of
from xtc.ir.mlir import (
    BoolAttr,
    FloatAttr,
    FloatType,
    Operation,
    Type,
    Value,
    VectorType,
    arith,
    vector,
)
from xtc.ir.mlir_nvvm import nvvm
from xtc.ir.tile_dialect import known_layout
from xtc_targets.nvgpu.passes._thread_code import as_i32
from xtc_targets.nvgpu.passes._tile_memory import SharedView, thread_base, write_shared

_INTEGERS: dict[str, Callable[[Value, Value], Value]] = {
    "add": arith.addi,
    "mul": arith.muli,
    "max": arith.maxsi,
    "min": arith.minsi,
    "umax": arith.maxui,
    "umin": arith.minui,
    "and": arith.andi,
    "or": arith.ori,
    "xor": arith.xori,
}
_FLOATS: dict[str, Callable[[Value, Value], Value]] = {
    "add": arith.addf,
    "mul": arith.mulf,
    "max": arith.maximumf,
    "min": arith.minimumf,
}


def scanned(value: Value, op: Operation, thread: Value, shared: Callable[[], Value]) -> Value:
    """A thread's part of a scan."""
    layout, dim = known_layout(op.results[0]), number_of(op, "dim")
    type = VectorType(value.type)
    kind = str(op.attributes["kind"]).strip('"')
    combine = (_FLOATS if isinstance(type.element_type, FloatType) else _INTEGERS)[kind]
    view = SharedView.dense(shared(), op, layout.shape, type.element_type)
    base = thread_base(layout, thread)
    steps = _Steps(view, base, layout.local_offsets, dim)
    nvvm.barrier(None)
    distance = 1
    while distance < layout.shape[dim]:
        write_shared(view, layout, thread, value)
        nvvm.barrier(None)
        before, exists = steps.read(distance, type)
        nvvm.barrier(None)
        value = arith.select(exists, combine(before, value), value)
        distance *= 2
    if BoolAttr(op.attributes["exclusive"]).value:
        write_shared(view, layout, thread, value)
        nvvm.barrier(None)
        before, exists = steps.read(1, type)
        nvvm.barrier(None)
        first = vector.broadcast(type, _identity(kind, type.element_type))
        value = arith.select(exists, before, first)
    return value


class _Steps:
    """Reads, for each of a thread's elements, the one at a distance before it."""

    def __init__(
        self, view: SharedView, base: list[Number], offsets: Sequence[tuple[int, ...]], dim: int
    ) -> None:
        self.view, self.base, self.offsets, self.dim = view, base, offsets, dim

    def read(self, distance: int, type: VectorType) -> tuple[Value, Value]:
        """These elements, and for which of them there is one."""
        found, exist = [], []
        for offset in self.offsets:
            index = [add(base, step) for base, step in zip(self.base, offset, strict=True)]
            at = add(index[self.dim], -distance)
            exist.append(compare("sge", as_i32(at), 0))
            index[self.dim] = maximum(at, 0)
            found.append(vector.extract(self.view.load(index, 1), [], [0]))
        conditions = VectorType.get(type.shape, exist[0].type)
        return vector.from_elements(type, found), vector.from_elements(conditions, exist)


def _identity(kind: str, type: Type) -> Value:
    """What combines with everything to the same."""
    if isinstance(type, FloatType):
        infinite = float("inf")
        number = {"add": 0.0, "mul": 1.0, "max": -infinite, "min": infinite}[kind]
        return arith.constant(type, FloatAttr.get(type, number))
    width = type.width
    numbers = {"mul": 1, "and": -1, "umin": -1, "max": -(1 << (width - 1))}
    return arith.constant(type, {**numbers, "min": (1 << (width - 1)) - 1}.get(kind, 0))
