# SPDX-License-Identifier: Apache-2.0
"""Instructions of whole warps in batches, for the simulator: lanes meet once for many.

A meeting switches to every lane of a warp, which costs more than a multiply-add. Instructions of a
block of code that do not depend on each other are done by one call, before the first operation that
needs a result; what only takes results apart, or puts them together, waits behind the call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from xtc.ir.builders.llvm import advanced, call, constant, plain_address
from xtc.ir.mlir import Block, InsertionPoint, IntegerAttr, Operation, Value
from xtc.ir.mlir_llvm import llvm

MOST = 64
"""Instructions of a batch."""

MMA, LOAD = "nvvm.mma.sync", "nvvm.ldmatrix"

_WORD = 4
_SUMS = 6  # of an mma's 10 words that where C begins
_REGISTERS = 4  # of a load's 8 words that where results begin
WORDS = {MMA: 10, LOAD: 8}
"""32-bit words of an instruction. An mma has 4 of A, 2 of B, and 4 of C, which become the result; a
load an address of two, how many matrices, whether they are transposed, and 4 for the result."""

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


def batch(kernel: Operation, name: str, kind_of: Callable[[Operation], int], memory: Value) -> None:
    """Do a kernel's instructions of a name in batches; `memory` has room for one of `MOST`."""
    for block in _blocks(kernel):
        found = _Batch()
        for view in list(block.operations):
            op = view.operation
            waits = any(value in found.pending for value in op.operands)
            if op.name == name:
                kind = kind_of(op)
                if waits or kind != found.kind or len(found.members) == MOST:
                    _flush(found, op, memory)
                    found = _Batch(kind)
                found.members.append(op)
                found.pending.update(op.results)
            elif waits and op.name in _DELAYED:
                found.delayed.append(op)
                found.pending.update(op.results)
            elif waits or op.name in _ENDS or (name == LOAD and _may_write(op)):
                _flush(found, op, memory)
                found = _Batch()


def _blocks(op: Operation) -> list[Block]:
    return [block for region in op.regions for block in region.blocks]


def _may_write(op: Operation) -> bool:
    return op.name not in _WITHOUT_EFFECTS


def _flush(found: _Batch, before: Operation, memory: Value) -> None:
    """Write the call before an operation, and after it what waits for results."""
    if not found.members:
        return
    ip = InsertionPoint(before)
    name = found.members[0].name
    with found.members[0].location:
        for number, op in enumerate(found.members):
            _write_operands(op, number, memory, ip)
        count = constant(len(found.members), ip)
        if name == MMA:
            call("cuda_mma_batch", [constant(found.kind, ip), count, memory], [], ip)
        else:
            call("cuda_load_matrix_batch", [count, memory], [], ip)
        results = _SUMS if name == MMA else _REGISTERS
        for number, op in enumerate(found.members):
            position = _word(op, number, results, memory, ip)
            made = llvm.load(op.results[0].type, position, ip=ip)
            op.results[0].replace_all_uses_with(made)
    for op in found.delayed:
        op.move_before(before)
    for op in found.members:
        op.erase()


def _write_operands(op: Operation, number: int, memory: Value, ip: InsertionPoint) -> None:
    if op.name == MMA:
        for word, value in enumerate(op.operands):
            llvm.store(value, _word(op, number, word, memory, ip), ip=ip)
        return
    llvm.store(plain_address(op.operands[0], ip), _word(op, number, 0, memory, ip), ip=ip)
    count = int(IntegerAttr(op.attributes["num"]).value)
    transposed = int("col" in str(op.attributes["layout"]))
    llvm.store(constant(count, ip), _word(op, number, 2, memory, ip), ip=ip)
    llvm.store(constant(transposed, ip), _word(op, number, 3, memory, ip), ip=ip)


def _word(op: Operation, number: int, word: int, memory: Value, ip: InsertionPoint) -> Value:
    return advanced(memory, (number * WORDS[op.name] + word) * _WORD, ip)
