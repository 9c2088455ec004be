# SPDX-License-Identifier: Apache-2.0
"""hoist-accumulators: accumulators in memory stay in registers while a loop runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.accesses import Access, are_distinct
from xtc.ir.builders.rebuild import rebuilt
from xtc.ir.mlir import (
    Block,
    BlockArgument,
    InsertionPoint,
    MemRefType,
    Operation,
    Value,
    VectorType,
    all_operations,
    scf,
)
from xtc.ir.passes import Pass

_BARRIERS = ("gpu.barrier", "nvvm.barrier")
_HARMLESS = (
    "memref.alloc",
    "memref.alloca",
    "memref.collapse_shape",
    "memref.expand_shape",
    "memref.get_global",
    "memref.subview",
    "scf.yield",
    "llvm.bitcast",
)


@dataclass(frozen=True)
class HoistAccumulators(Pass):
    """Move the load and the store of a loop-invariant address out of the loop around them.

    Before:
        scf.for %k = ... { %s = memref.load %c[%i]; ...; memref.store %t, %c[%i] }
    After:
        %first = memref.load %c[%i]
        %last = scf.for %k = ... iter_args(%s = %first) { ...; scf.yield %t }
        memref.store %last, %c[%i]

    Nothing else in the loop may access that address; accesses to other buffers, and to elements of
    the same buffer at a constant distance, are known not to. Inner loops come first, so that an
    accumulator moves out of all its loops.
    """

    name: ClassVar[str] = "hoist-accumulators"

    def run(self, module: Operation) -> None:
        loops = [op for op in all_operations(module) if op.name == "scf.for"]
        for loop in reversed(loops):
            pairs = _accumulators(loop)
            if pairs:
                _hoist(loop, pairs)


def _accumulators(loop: Operation) -> list[tuple[Access, Access]]:
    """Reads and writes that can move out of `loop`, in the order of the writes."""
    body = _Body.of(loop)
    if body is None:
        return []
    pairs = []
    for position, (write, _) in enumerate(body.accesses):
        if not write.is_write or write.op.parent != loop or not _is_outside(write, loop):
            continue
        before = (access for access, _ in body.accesses[:position] if access.op.parent == loop)
        read = next((access for access in before if access.same_place(write)), None)
        if read is not None and not read.is_write and body.is_alone(read, write):
            pairs.append((read, write))
    return pairs


@dataclass(frozen=True)
class _Body:
    """What the body of a loop does to memory.

    Attributes:
        accesses: reads and writes in order, each with the number of barriers before it.
        buffers: what is copied, freed, or accessed in any other way.
    """

    accesses: tuple[tuple[Access, int], ...]
    buffers: tuple[Value, ...]

    @staticmethod
    def of(loop: Operation) -> _Body | None:
        """None where something may touch any memory."""
        accesses: list[tuple[Access, int]] = []
        buffers: list[Value] = []
        barriers = 0
        for op in all_operations(loop):
            access = Access.of(op)
            if access is not None:
                accesses.append((access, barriers))
            elif op.name in _BARRIERS:
                barriers += 1
            elif op.name in ("memref.copy", "memref.dealloc") or op.name.startswith("vector."):
                buffers += [value for value in op.operands if isinstance(value.type, MemRefType)]
            elif op != loop and not _is_harmless(op):
                return None
        return _Body(tuple(accesses), tuple(buffers))

    def is_alone(self, read: Access, write: Access) -> bool:
        """Whether nothing else here touches the place, in this thread or another.

        Between two barriers, threads touch elements of their own of what one of them writes; behind
        a barrier, elements that are apart for one thread may be another's.
        """
        if not all(are_distinct(buffer, write.memref) for buffer in self.buffers):
            return False
        others = {access.memref for access, _ in self.accesses if access.memref != write.memref}
        near = {memref for memref in others if not are_distinct(memref, write.memref)}
        same = [
            (access, barriers)
            for access, barriers in self.accesses
            if access.memref == write.memref or access.memref in near
        ]
        apart = (
            access.is_apart(write) for access, _ in same if access.op not in (read.op, write.op)
        )
        return all(apart) and len({barriers for _, barriers in same}) == 1


def _is_outside(access: Access, loop: Operation) -> bool:
    """Whether the place does not depend on what `loop` computes."""
    return not any(_is_inside(value, loop) for value in (access.memref, *access.indices))


def _is_inside(value: Value, loop: Operation) -> bool:
    owner = value.owner
    around = owner.owner if isinstance(value, BlockArgument) else owner.operation.parent
    while around is not None and around.operation != loop:
        around = around.operation.parent
    return around is not None


def _is_harmless(op: Operation) -> bool:
    """Whether it touches no memory."""
    pure = op.name.startswith(("arith.", "math.", "affine.", "scf.", "ub."))
    return pure or op.name in _HARMLESS or _is_on_vectors(op)


def _is_on_vectors(op: Operation) -> bool:
    """Whether it is an instruction on vectors alone; one that touches memory takes an address."""
    values = [*op.operands, *op.results]
    return op.name == "llvm.call_intrinsic" and all(
        isinstance(value.type, VectorType) for value in values
    )


def _hoist(loop: Operation, pairs: Sequence[tuple[Access, Access]]) -> None:
    with loop.context, loop.location:
        with InsertionPoint(loop):
            first = [read.op.clone().results[0] for read, _ in pairs]
            types = [value.type for value in [*loop.results, *first]]
            new = rebuilt(loop, [*loop.operands, *first], types)
        block = loop.regions[0].blocks[0]
        block.append_to(new.regions[0])
        _yield(block, [write.value for _, write in pairs])
        for read, _ in pairs:
            carried = block.add_argument(read.value.type, read.op.location)
            read.value.replace_all_uses_with(carried)
        kept = len(loop.results)
        _store(new, [write for _, write in pairs], list(new.results)[kept:])
        for old, result in zip(loop.results, new.results, strict=False):
            old.replace_all_uses_with(result)
    for read, write in pairs:
        read.op.erase()
        write.op.erase()
    loop.erase()


def _yield(block: Block, values: Sequence[Value]) -> None:
    """Let the loop's last operation hand on `values` too."""
    last = list(block.operations)[-1].operation
    scf.yield_([*last.operands, *values], ip=InsertionPoint(last))
    last.erase()


def _store(loop: Operation, writes: Sequence[Access], results: Sequence[Value]) -> None:
    """Write what the loop leaves, after it."""
    with InsertionPoint.after(loop):
        for write, result in zip(writes, results, strict=True):
            copy = write.op.clone()
            copy.operands[0] = result
