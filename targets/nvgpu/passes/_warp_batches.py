# SPDX-License-Identifier: Apache-2.0
"""Instructions of whole warps in batches, for the simulator: lanes meet once for many.

A meeting switches to every lane of a warp, which costs more than a multiply-add. Instructions of a
block of code are done by one call, before the first operation that needs a result; what only takes
results apart, or puts them together, waits behind the call. A multiply-add that continues the sums of
another one, which nobody else reads, is of the same batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from xtc.ir.mlir import Block, BlockArgument, DenseI64ArrayAttr, InsertionPoint, Operation, Value
from xtc_targets.nvgpu.passes._batch_calls import LOAD, MMA, Member, Tables, load_all, multiply_all

MOST = 64
"""Instructions of a batch: `CUDA_MMA_BATCH` of `csrc/cuda_sim.h`."""

_ACCUMULATORS = 4

_DELAYED = (
    *("llvm.extractvalue", "llvm.insertvalue", "llvm.extractelement", "llvm.insertelement"),
    *("llvm.bitcast", "llvm.shufflevector", "llvm.mlir.undef", "llvm.mlir.poison"),
    *("llvm.mlir.constant", "llvm.fadd", "llvm.fptrunc", "llvm.fpext", MMA),
)
"""Operations without effects that may stand behind the call."""

_ENDS = ("llvm.return", "llvm.br", "llvm.cond_br", "llvm.switch", "llvm.unreachable")
_WITHOUT_EFFECTS = (
    *("llvm.getelementptr", "llvm.addrspacecast", "llvm.ptrtoint", "llvm.inttoptr", "llvm.icmp"),
    *("llvm.add", "llvm.sub", "llvm.mul", "llvm.and", "llvm.or", "llvm.xor", "llvm.shl"),
    *("llvm.lshr", "llvm.ashr", "llvm.udiv", "llvm.urem", "llvm.sext", "llvm.zext", "llvm.trunc"),
    *("llvm.select", "llvm.mlir.addressof", *_DELAYED),
)


@dataclass
class _Batch:
    """Instructions of one kind, and operations that wait for them."""

    kind: int = -1
    members: list[Operation] = field(default_factory=list)
    delayed: list[Operation] = field(default_factory=list)
    pending: set[Value] = field(default_factory=set)

    def takes(self, op: Operation, kind: int) -> bool:
        """Whether an instruction can be of this batch."""
        if kind != self.kind or len(self.members) == MOST:
            return False
        continued = _continued(op)
        mine = continued is not None and continued in self.members
        operands = list(op.operands)[: -_ACCUMULATORS if mine else None]
        return not any(value in self.pending for value in operands)


def batch(
    kernel: Operation,
    name: str,
    kind_of: Callable[[Operation], int],
    memory: Value,
    tables: Tables,
) -> None:
    """Do a kernel's instructions of a name in batches; `memory` has room for one of `MOST`."""
    for block in _blocks(kernel):
        found = _Batch()
        for view in list(block.operations):
            op = view.operation
            waits = any(value in found.pending for value in op.operands)
            if op.name == name:
                kind = kind_of(op)
                if not found.takes(op, kind):
                    _flush(found, op, memory, tables)
                    found = _Batch(kind)
                found.members.append(op)
                found.pending.update(op.results)
            elif waits and op.name in _DELAYED:
                found.delayed.append(op)
                found.pending.update(op.results)
            elif waits or op.name in _ENDS or (name == LOAD and _may_write(op)):
                _flush(found, op, memory, tables)
                found = _Batch()


def _blocks(op: Operation) -> list[Block]:
    return [block for region in op.regions for block in region.blocks]


def _may_write(op: Operation) -> bool:
    return op.name not in _WITHOUT_EFFECTS


def _continued(op: Operation) -> Operation | None:
    """The multiply-add whose sums this one goes on with, if nobody else reads them."""
    if op.name != MMA:
        return None
    parts = list(op.operands)[-_ACCUMULATORS:]
    if any(isinstance(value, BlockArgument) for value in parts):
        return None
    makers = [value.owner.operation for value in parts]
    if any(maker.name != "llvm.extractvalue" for maker in makers):
        return None
    whole = makers[0].operands[0]
    alone = len(list(whole.uses)) == _ACCUMULATORS and not isinstance(whole, BlockArgument)
    if not alone or whole.owner.name != MMA:
        return None
    in_order = all(
        maker.operands[0] == whole
        and list(DenseI64ArrayAttr(maker.attributes["position"])) == [number]
        and len(list(maker.results[0].uses)) == 1
        for number, maker in enumerate(makers)
    )
    return whole.owner.operation if in_order else None


def _flush(found: _Batch, before: Operation, memory: Value, tables: Tables) -> None:
    """Write the call before an operation, and after it what waits for results."""
    if not found.members:
        return
    ip = InsertionPoint(before)
    results: list[Value | None]
    with found.members[0].location:
        if found.members[0].name == MMA:
            results = multiply_all(found.kind, _members(found), memory, tables, ip)
        else:
            results = [*load_all(found.members, memory, tables, ip)]
    taken_apart: set[Operation] = set()
    for op, result in zip(found.members, results, strict=True):
        if result is None:
            taken_apart.update(use.owner.operation for use in op.results[0].uses)
        else:
            op.results[0].replace_all_uses_with(result)
    for op in found.delayed:
        if op not in taken_apart:
            op.move_before(before)
    for op in reversed(found.members):
        for use in list(op.results[0].uses):
            use.owner.operation.erase()
        op.erase()


def _members(found: _Batch) -> list[Member]:
    numbers = {op: number for number, op in enumerate(found.members)}
    made = []
    for op in found.members:
        continued = _continued(op)
        made.append(Member(op, None if continued is None else numbers.get(continued)))
    return made
