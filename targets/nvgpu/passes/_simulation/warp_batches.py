# SPDX-License-Identifier: Apache-2.0
"""Batches the matrix instructions of warps for the simulator: one warp collective for many.

A warp collective switches to every lane of a warp, which costs more than a multiply-add. The matrix
loads and multiply-adds of a basic block become one call, before the first operation that needs a
result. Operations that only split or assemble results move after the call. A batch may contain
multiply-adds of matrices that it loads, and those that accumulate onto another result without other
users: such values do not pass through lanes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from xtc.ir.mlir import Block, InsertionPoint, Operation, Value
from xtc_targets.nvgpu.passes._simulation.batch_calls import (
    ACCUMULATORS,
    LOAD,
    MMA,
    Layout,
    Tables,
    extracted,
    matrices,
    operands,
)

MOST = 64
"""Maximum loads, and multiply-adds, per batch: `CUDA_BATCH` of `csrc/cuda_sim.h`."""

_DELAYED = (
    *("llvm.extractvalue", "llvm.insertvalue", "llvm.extractelement", "llvm.insertelement"),
    *("llvm.bitcast", "llvm.shufflevector", "llvm.mlir.undef", "llvm.mlir.poison"),
    *("llvm.mlir.constant", "llvm.fadd", "llvm.fptrunc", "llvm.fpext"),
    *("nvvm.convert.float.to.tf32", MMA),
)
"""Operations without side effects that may move after the call."""

_TAKES_APART = "llvm.extractvalue", "llvm.bitcast"
_ENDS = ("llvm.return", "llvm.br", "llvm.cond_br", "llvm.switch", "llvm.unreachable")
WITHOUT_EFFECTS = (
    *("llvm.getelementptr", "llvm.addrspacecast", "llvm.ptrtoint", "llvm.inttoptr", "llvm.icmp"),
    *("llvm.add", "llvm.sub", "llvm.mul", "llvm.and", "llvm.or", "llvm.xor", "llvm.shl"),
    *("llvm.lshr", "llvm.ashr", "llvm.udiv", "llvm.urem", "llvm.sext", "llvm.zext", "llvm.trunc"),
    *("llvm.select", "llvm.mlir.addressof", *_DELAYED),
)
"""Operations that neither read nor write memory."""


@dataclass
class _Batch:
    """Matrix instructions, and operations that depend on them.

    Attributes:
        kind: kind of the multiply-adds; None before the first one.
        loads, steps: loads and multiply-adds, with their numbers.
        inner: all these operations, in order.
    """

    kind: int | None = None
    loads: dict[Operation, int] = field(default_factory=dict)
    steps: dict[Operation, int] = field(default_factory=dict)
    inner: list[Operation] = field(default_factory=list)
    pending: set[Value] = field(default_factory=set)

    def waits(self, values: list[Value]) -> bool:
        """Whether a value depends on the call."""
        return any(value in self.pending for value in values)

    def takes(self, op: Operation, kind: int) -> bool:
        """Whether an instruction can join this batch."""
        if op.name == LOAD:
            return len(self.loads) < MOST and not self.waits(list(op.operands))
        if self.kind not in (None, kind) or len(self.steps) == MOST:
            return False
        a, b, c = operands(op)
        multiplied = all(
            not self.waits(words) or matrices(words, self.loads) is not None for words in (a, b)
        )
        return multiplied and (not self.waits(c) or continued(op) in self.steps)

    def add(self, op: Operation, kind: int) -> None:
        if op.name == LOAD:
            self.loads[op] = len(self.loads)
        else:
            self.kind = kind
            self.steps[op] = len(self.steps)
        self.wait(op)

    def wait(self, op: Operation) -> None:
        """Record an operation that is in the batch, or depends on it."""
        self.inner.append(op)
        self.pending.update(op.results)


def batch(
    kernel: Operation, kind_of: Callable[[Operation], int], memory: Value, tables: Tables
) -> None:
    """Batch a kernel's matrix instructions; `memory` has room for the words of `MOST`.

    Args:
        kind_of: the number of an mma's kind, any number for a load.
    """
    for block in _blocks(kernel):
        found = _Batch()
        for view in list(block.operations):
            op = view.operation
            waits = found.waits(list(op.operands))
            if op.name in (LOAD, MMA):
                kind = kind_of(op)
                if not found.takes(op, kind):
                    _flush(found, op, memory, tables)
                    found = _Batch()
                found.add(op, kind)
            elif waits and op.name in _DELAYED:
                found.wait(op)
            elif waits or op.name in _ENDS or (found.loads and op.name not in WITHOUT_EFFECTS):
                _flush(found, op, memory, tables)
                found = _Batch()


def _blocks(op: Operation) -> list[Block]:
    return [block for region in op.regions for block in region.blocks]


def continued(op: Operation) -> Operation | None:
    """The multiply-add whose result this one accumulates onto, if it has no other user."""
    parts = [extracted(value) for value in operands(op)[2]]
    first = parts[0]
    if first is None or first[0].name != MMA:
        return None
    if parts != [(first[0], number) for number in range(ACCUMULATORS)]:
        return None
    takers = list(first[0].results[0].uses)
    alone = len(takers) == ACCUMULATORS and all(
        len(list(use.owner.operation.results[0].uses)) == 1 for use in takers
    )
    return first[0] if alone else None


def _is_read(op: Operation, found: _Batch) -> bool:
    """Whether an operation's result has other users than the batch's multiply-adds."""
    return any(
        user not in found.steps and (user.name not in _TAKES_APART or _is_read(user, found))
        for user in (use.owner.operation for result in op.results for use in result.uses)
    )


def _flush(found: _Batch, before: Operation, memory: Value, tables: Tables) -> None:
    """Insert the call before an operation, followed by the operations that depend on it."""
    if not found.loads and not found.steps:
        return
    ip = InsertionPoint(before)
    wanted = [op for op in found.loads if _is_read(op, found)]
    layout = Layout(found.kind or 0, found.loads, wanted)
    begun = set()
    for op in found.steps:
        first = continued(op)
        begun |= set() if first is None else {first}
        layout.add(op, None if first is None else found.steps.get(first))
    with found.inner[0].location:
        layout.call(memory, tables, ip)
        for op in wanted:
            op.results[0].replace_all_uses_with(layout.registers(op, memory, ip))
        for op, step in found.steps.items():
            if op not in begun:
                op.results[0].replace_all_uses_with(layout.sums(op, step, memory, ip))
    _drop(found)
    for op in found.inner:
        op.move_before(before)


def _drop(found: _Batch) -> None:
    """Erase the instructions, and operations on their results that are now unused."""
    left = []
    for op in reversed(found.inner):
        is_member = op in found.loads or op in found.steps
        if is_member or not any(list(result.uses) for result in op.results):
            op.erase()
        else:
            left.append(op)
    found.inner = left[::-1]
