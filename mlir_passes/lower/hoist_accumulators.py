# SPDX-License-Identifier: Apache-2.0
"""hoist-accumulators: accumulators in memory stay in registers while a loop runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from xtc.ir.analysis.accesses import Access, are_distinct
from xtc.ir.analysis.structured import body_operations
from xtc.ir.builders import numbers
from xtc.ir.builders.rebuild import rebuilt
from xtc.ir.fast_math import allow, allows, deny
from xtc.ir.mlir import (
    Block,
    BlockArgument,
    DenseElementsAttr,
    FloatAttr,
    InsertionPoint,
    MemRefType,
    Operation,
    Value,
    VectorType,
    all_operations,
    arith,
    scf,
)
from xtc.ir.passes import Pass

_FEW = 64  # partial sums, which are added one after the other
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

    Nothing else in the loop may access that address. Accesses to other buffers, and to elements at
    a constant distance in the same buffer, do not. Inner loops come first, so that an accumulator
    moves out of all its loops. If additions may be reassociated, as in a long contraction, the loop
    starts from zero, and its partial sum is added to the old value afterwards. A loop over few
    partial sums, as over the window of a convolution, adds them one after the other.
    """

    name: ClassVar[str] = "hoist-accumulators"

    def run(self, module: Operation) -> None:
        loops = [op for op in all_operations(module) if op.name == "scf.for"]
        for loop in reversed(loops):
            pairs = _accumulators(loop)
            if pairs:
                _hoist(loop, pairs)


def _accumulators(loop: Operation) -> list[tuple[Access, Access]]:
    """The loads and stores that can move out of `loop`, in the order of the stores."""
    pairs = _replaced(loop)
    body = _Body.of(loop) if pairs else None
    return [] if body is None else [pair for pair in pairs if body.is_alone(*pair)]


def _replaced(loop: Operation) -> list[tuple[Access, Access]]:
    """Loads in the loop's own body, each with the store to the same invariant location."""
    pairs = []
    first: dict[tuple[object, ...], Access] = {}
    for op in body_operations(loop):
        access = Access.of(op)
        if access is not None:
            read = first.setdefault(access.location, access)
            if access.is_write and not read.is_write and _is_outside(access, loop):
                pairs.append((read, access))
    return pairs


@dataclass(frozen=True)
class _Body:
    """The memory accesses in the body of a loop.

    Attributes:
        accesses: reads and writes in order, each with the number of barriers before it.
        buffers: the buffers that are copied, freed, or accessed in any other way.
    """

    accesses: tuple[tuple[Access, int], ...]
    buffers: tuple[Value, ...]
    _known: dict[Value, _Near | None] = field(default_factory=dict)

    @staticmethod
    def of(loop: Operation) -> _Body | None:
        """The accesses; None if an operation may access any memory."""
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
        """Whether nothing else in the body accesses the location, in this thread or another.

        Between two barriers, the elements that a thread writes are accessed by no other thread.
        Across a barrier, elements that are distinct within one thread may coincide with another's.
        """
        same = self._near(write.memref)
        if same is None or len(same.barriers) != 1:
            return False
        others = (access for location, access in same.first.items() if location != write.location)
        return same.counts[write.location] == len((read, write)) and all(
            access.is_apart(write) for access in others
        )

    def _near(self, memref: Value) -> _Near | None:
        """The accesses to a buffer's memory; None if another operation accesses it."""
        if memref not in self._known:
            others = {access.memref for access, _ in self.accesses} - {memref}
            near = {memref, *(other for other in others if not are_distinct(other, memref))}
            same = [entry for entry in self.accesses if entry[0].memref in near]
            touched = not all(are_distinct(buffer, memref) for buffer in self.buffers)
            self._known[memref] = None if touched else _Near.of(same)
        return self._known[memref]


@dataclass(frozen=True)
class _Near:
    """Accesses to memory that may alias.

    Attributes:
        first: the first access to each location.
        counts: the number of accesses to each location.
        barriers: the numbers of barriers before the accesses.
    """

    first: dict[tuple[object, ...], Access]
    counts: Counter[tuple[object, ...]]
    barriers: set[int]

    @staticmethod
    def of(accesses: Sequence[tuple[Access, int]]) -> _Near:
        first = {access.location: access for access, _ in reversed(accesses)}
        counts = Counter(access.location for access, _ in accesses)
        return _Near(first, counts, {barriers for _, barriers in accesses})


def _is_outside(access: Access, loop: Operation) -> bool:
    """Whether the location does not depend on what `loop` computes."""
    operands = [value for value in access.op.operands if value != access.value]
    return not any(_is_inside(value, loop) for value in operands)


def _is_inside(value: Value, loop: Operation) -> bool:
    owner = value.owner
    around = owner.owner if isinstance(value, BlockArgument) else owner.operation.parent
    while around is not None and around.operation != loop:
        around = around.operation.parent
    return around is not None


def _is_harmless(op: Operation) -> bool:
    """Whether it accesses no memory."""
    pure = op.name.startswith(("arith.", "math.", "affine.", "scf.", "ub."))
    return pure or op.name in _HARMLESS or _is_on_vectors(op)


def _is_on_vectors(op: Operation) -> bool:
    """Whether it is an instruction on vectors alone: one that accesses memory takes an address."""
    values = [*op.operands, *op.results]
    return op.name == "llvm.call_intrinsic" and all(
        isinstance(value.type, VectorType) for value in values
    )


def _hoist(loop: Operation, pairs: Sequence[tuple[Access, Access]]) -> None:
    free = [_free_additions(*pair) for pair in pairs]
    chains = [
        [] if _adds_few(loop, *pair) else chain for pair, chain in zip(pairs, free, strict=True)
    ]
    with loop.context, loop.location:
        with InsertionPoint(loop):
            kept = [read.op.clone().results[0] for read, _ in pairs]
            first = [
                _zero(value) if chain else value for value, chain in zip(kept, chains, strict=True)
            ]
            types = [value.type for value in [*loop.results, *first]]
            new = rebuilt(loop, [*loop.operands, *first], types)
        block = loop.regions[0].blocks[0]
        block.append_to(new.regions[0])
        _yield(block, [write.value for _, write in pairs])
        for read, _ in pairs:
            carried = block.add_argument(read.value.type, read.op.location)
            read.value.replace_all_uses_with(carried)
        results = list(new.results)
        with InsertionPoint.after(new):
            last = [
                _sum(value, result) if chain else result
                for value, result, chain in zip(
                    kept, results[len(loop.results) :], chains, strict=True
                )
            ]
            _store([write for _, write in pairs], last)
        for old, result in zip(loop.results, results, strict=False):
            old.replace_all_uses_with(result)
    for chain in free:
        for op in chain:
            deny(op, "reassoc")
    for read, write in pairs:
        read.op.erase()
        write.op.erase()
    loop.erase()


def _free_additions(read: Access, write: Access) -> list[Operation]:
    """The additions from the load to the store; empty unless all may be reassociated."""
    found: list[Operation] = []
    value = read.value
    while value != write.value:
        users = [use.owner.operation for use in value.uses]
        if len(users) != 1 or users[0].name != "arith.addf" or not allows(users[0], "reassoc"):
            return []
        found.append(users[0])
        (value,) = users[0].results
    return found


def _adds_few(loop: Operation, read: Access, write: Access) -> bool:
    """Whether the loop adds sums of an inner loop, and all loops around that add few of them."""
    users = [use.owner.operation for use in read.value.uses]
    parts = [operand.owner for user in users for operand in user.operands if operand != read.value]
    if not any(getattr(part, "name", "") == "scf.for" for part in parts):
        return False
    count = 1
    while loop.name == "scf.for" and _is_outside(write, loop):
        count *= numbers.known_trips(loop) or _FEW + 1
        loop = loop.parent
    return count <= _FEW


def _zero(like: Value) -> Value:
    type = like.type
    if isinstance(type, VectorType):
        splat = DenseElementsAttr.get_splat(type, FloatAttr.get(type.element_type, 0.0))
        return arith.constant(type, splat)
    return arith.constant(type, 0.0)


def _sum(before: Value, partial: Value) -> Value:
    """The sum of both, which an outer loop may split into partial sums again."""
    total = arith.addf(before, partial)
    allow(total.owner.operation, "reassoc")
    return total


def _yield(block: Block, values: Sequence[Value]) -> None:
    """Let the loop's terminator yield `values` too."""
    last = list(block.operations)[-1].operation
    scf.yield_([*last.operands, *values], ip=InsertionPoint(last))
    last.erase()


def _store(writes: Sequence[Access], values: Sequence[Value]) -> None:
    """Store the final values of the loop."""
    for write, value in zip(writes, values, strict=True):
        copy = write.op.clone()
        copy.operands[write.value_number] = value
