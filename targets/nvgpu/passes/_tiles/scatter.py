# SPDX-License-Identifier: Apache-2.0
"""Lowers atomic instructions and scattered stores for a thread, element by element."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xtc.ir.builders import control
from xtc.ir.builders.llvm import advanced
from xtc.ir.builders.numbers import Number, add, compare
from xtc.ir.builders.tile import number_of
from xtc.ir.mlir import (
    FloatType,
    InsertionPoint,
    IntegerType,
    Operation,
    RankedTensorType,
    Type,
    Value,
    VectorType,
    arith,
    scf,
    vector,
)
from xtc.ir.mlir_llvm import llvm
from xtc.ir.tile_dialect import known_layout
from xtc_targets.nvgpu.passes._thread_code import all_of, as_i32, wide_signed
from xtc_targets.nvgpu.passes._tiles.bounds import TileBounds, both
from xtc_targets.nvgpu.passes._tiles.global_memory import GlobalView
from xtc_targets.nvgpu.passes._tiles.groups import barrier
from xtc_targets.nvgpu.passes._tiles.shared_memory import (
    SharedView,
    bytes_of,
    first_replica,
    read_shared,
    store_vector,
    thread_base,
    write_shared,
)

_BINARY = {
    "add": ("add", "fadd"),
    "exch": ("xchg", "xchg"),
    "max": ("max", "fmax"),
    "min": ("min", "fmin"),
    "umax": ("umax", "fmax"),
    "umin": ("umin", "fmin"),
}
"""LLVM's names of atomic operations, for integers and floats, by kind."""

_ORDERS = {
    "relaxed": llvm.AtomicOrdering.monotonic,
    "acquire": llvm.AtomicOrdering.acquire,
    "release": llvm.AtomicOrdering.release,
    "acq_rel": llvm.AtomicOrdering.acq_rel,
}

_SCOPE = "device"

View = SharedView | GlobalView


def hands_back(op: Operation) -> bool:
    """Whether threads need the result of an atomic instruction that another thread ran."""
    used = len(list(op.results[0].uses)) > 0
    return used and bool(known_layout(op.results[0]).replica_digits())


def combine(
    op: Operation, view: View, operands: Sequence[Value], thread: Value, shared: Callable[[], Value]
) -> Value:
    """Combine a thread's elements with memory; returns the previous values.

    LLVM ignores the order of an atomicrmw for GPUs, but not of a cmpxchg. Fences therefore order
    what precedes and follows these; the simulator has the order from each atomicrmw.
    """
    kind = str(op.attributes["kind"]).strip('"')
    values = operands[0]
    type = VectorType(values.type)
    layout = known_layout(op.operands[1])
    name = str(op.attributes["order"]).strip('"')
    order = _ORDERS[name]
    is_fenced = kind != "cas"
    _fence(is_fenced and name in ("release", "acq_rel"))
    positions = _Elements(view, op.operands[1], thread, number_of(op, "dim"), operands[-1])
    before = []
    for at in range(layout.local_size):
        value = vector.extract(values, [], [at])
        compared = vector.extract(operands[1], [], [at]) if kind == "cas" else None
        address, inside = positions.element(at)
        before.append(_guarded(inside, type.element_type, kind, address, value, compared, order))
    _fence(is_fenced and name in ("acquire", "acq_rel"))
    result = vector.from_elements(type, before)
    if not hands_back(op):
        return result
    scratch = SharedView.dense(shared(), op, layout.shape, type.element_type)
    barrier(op)
    write_shared(scratch, layout, thread, result)
    barrier(op)
    found = read_shared(scratch, layout, thread)
    barrier(op)
    return found


def scatter(op: Operation, view: View, value: Value, indices: Value, thread: Value) -> None:
    """Store a thread's elements at their indices."""
    layout = known_layout(op.operands[0])
    positions = _Elements(view, op.operands[0], thread, number_of(op, "dim"), indices)
    type = VectorType(value.type)
    for at in range(layout.local_size):
        address, inside = positions.element(at)
        if inside is False:
            continue
        with control.branch(inside):
            element = vector.extract_strided_slice(
                VectorType.get([1], type.element_type), value, [at], [1], [1]
            )
            store_vector(element, address)


class _Elements:
    """Addresses of a thread's elements, with an index tensor for one dimension."""

    def __init__(self, view: View, tile: Value, thread: Value, dim: int, indices: Value) -> None:
        layout, shape = known_layout(tile), RankedTensorType(tile.type).shape
        self.view, self.layout, self.dim, self.indices = view, layout, dim, indices
        self.base = thread_base(layout, thread)
        self.replica = first_replica(layout, thread)
        self.bounds = TileBounds(layout, shape, self.base)

    def element(self, at: int) -> tuple[Value, Value | bool]:
        """The address of an element, and whether this thread accesses it."""
        behind = self.layout.local_offsets[at]
        index = [add(base, step) for base, step in zip(self.base, behind, strict=True)]
        if self.dim >= 0:
            index[self.dim] = vector.extract(self.indices, [], [at])
        sizes = self.view.sizes if isinstance(self.view, GlobalView) else self.view.shape
        conditions = [
            compare("ult", as_i32(number), size)
            for dim, (number, size) in enumerate(zip(index, sizes, strict=True))
            if dim == self.dim or isinstance(self.view, GlobalView)
        ]
        inside = self.bounds.inside(behind)
        return self._address(index), both(inside, all_of([*self.replica, *conditions]))

    def _address(self, index: list[Number]) -> Value:
        if isinstance(self.view, SharedView):
            return self.view.address(index)
        total = wide_signed(0)
        for number, stride in zip(index, self.view.strides, strict=True):
            step = arith.muli(wide_signed(number), wide_signed(stride))
            total = arith.addi(total, step)
        nbytes = arith.muli(total, wide_signed(bytes_of(self.view.element)))
        return advanced(self.view.address, nbytes)


def _fence(needed: bool) -> None:
    if needed:
        llvm.fence(llvm.AtomicOrdering.acq_rel, syncscope=_SCOPE)


def _guarded(
    inside: Value | bool,
    type: Type,
    kind: str,
    address: Value,
    value: Value,
    compared: Value | None,
    order: llvm.AtomicOrdering,
) -> Value:
    if isinstance(inside, bool):
        zero = 0.0 if isinstance(type, FloatType) else 0
        return (
            _atomic(kind, address, value, compared, order) if inside else arith.constant(type, zero)
        )
    made = scf.IfOp(inside, [type], has_else=True)
    with InsertionPoint(made.then_block):
        scf.yield_([_atomic(kind, address, value, compared, order)])
    with InsertionPoint(made.else_block):
        scf.yield_([arith.constant(type, 0.0 if isinstance(type, FloatType) else 0)])
    return made.results[0]


def _atomic(
    kind: str, address: Value, value: Value, compared: Value | None, order: llvm.AtomicOrdering
) -> Value:
    scope = {"syncscope": _SCOPE}
    if kind != "cas":
        integer, floating = _BINARY[kind]
        name = floating if isinstance(value.type, FloatType) else integer
        return llvm.atomicrmw(llvm.AtomicBinOp[name], address, value, order, **scope)
    if isinstance(value.type, FloatType):
        bits = IntegerType.get_signless(value.type.width)
        found = _atomic(
            kind, address, arith.bitcast(bits, value), arith.bitcast(bits, compared), order
        )
        return arith.bitcast(value.type, found)
    acquires = order in (llvm.AtomicOrdering.acquire, llvm.AtomicOrdering.acq_rel)
    failure = llvm.AtomicOrdering.acquire if acquires else llvm.AtomicOrdering.monotonic
    pair = Type.parse(f"!llvm.struct<({value.type}, i1)>")
    made = llvm.cmpxchg(address, compared, value, order, failure, results=[pair], **scope)
    return llvm.extractvalue(value.type, made, [0])
