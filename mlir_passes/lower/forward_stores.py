# SPDX-License-Identifier: Apache-2.0
"""forward-stores: forwards the values of earlier accesses to loads, and removes dead stores."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from xtc.ir.analysis.accesses import Access, are_distinct
from xtc.ir.analysis.effects import memrefs_of, written_memrefs
from xtc.ir.mlir import Block, InsertionPoint, Operation, Value, all_operations, arith
from xtc.ir.passes import Pass

_Location = tuple[object, ...]
_PURE = ("arith.", "math.", "affine.", "ub.", "vector.broadcast", "vector.extract", "vector.from_")
_BY_OPERANDS = ("scf.", "linalg.", "memref.", "vector.", *_PURE)
"""Operations that access memory only by their memref operands."""


@dataclass(frozen=True)
class ForwardStores(Pass):
    """Keep the value of a location in a register from one access to the next.

    Before:
        %a = memref.load %c[%i] ; memref.store %x, %c[%i]
        %b = memref.load %c[%i] ; memref.store %y, %c[%i]
    After, if no operation in between can access the location:
        %a = memref.load %c[%i] ; (%x replaces %b) ; memref.store %y, %c[%i]

    The copies of an unrolled loop body have such accesses. `hoist-accumulators` can hoist the first
    load and the last store out of the surrounding loop only after the others are removed.

    A masked load takes a value that was accessed with the same mask:
        vector.maskedstore %c[%i], %mask, %v ; %w = vector.maskedload %c[%i], %mask, %zeros
        %w = arith.select %mask, %v, %zeros

    Attributes:
        only_masked: whether to forward masked stores alone. LLVM forwards other values, but neither
            it nor a processor forwards masked stores: rows of a register tile whose last lanes are
            masked overlap.
    """

    name: ClassVar[str] = "forward-stores"
    only_masked: bool = False

    def run(self, module: Operation) -> None:
        apart: dict[tuple[_Location, _Location], bool] = {}
        with module.context:
            for block in self._blocks(module):
                _Walk(self.only_masked, apart).run(block)

    def _blocks(self, module: Operation) -> list[Block]:
        ops = all_operations(module)
        if self.only_masked:
            return list({op.block: None for op in ops if op.name == "vector.maskedload"})
        return [block for op in ops for region in op.regions for block in region.blocks]


@dataclass
class _Walk:
    """A forward walk over a block.

    Attributes:
        only_masked: whether to forward masked stores alone.
        apart: whether two locations are disjoint, for the pairs compared so far.
        values: the last access to each location, and the value there.
        unread: the last store to each location that has not been read since.
    """

    only_masked: bool
    apart: dict[tuple[_Location, _Location], bool]
    values: dict[_Location, tuple[Access, Value]] = field(default_factory=dict)
    unread: dict[_Location, Access] = field(default_factory=dict)

    def run(self, block: Block) -> None:
        for op in [operation.operation for operation in block.operations]:
            access = Access.of(op)
            if access is None:
                self._pass(op)
            elif access.is_write:
                self._write(access)
            else:
                self._read(access)

    def _pass(self, op: Operation) -> None:
        """Forget the locations that another operation may access."""
        if op.name.startswith(_PURE):
            return
        if not all(inner.name.startswith(_BY_OPERANDS) for inner in all_operations(op)):
            self.values.clear()
            self.unread.clear()
            return
        written, used = written_memrefs(op), memrefs_of(op)
        for at, (known, _) in list(self.values.items()):
            if not all(are_distinct(known.memref, value) for value in written):
                del self.values[at]
        for at, write in list(self.unread.items()):
            if not all(are_distinct(write.memref, value) for value in used):
                del self.unread[at]

    def _read(self, access: Access) -> None:
        if access.location in self.values:
            _replace(access, self.values[access.location][1])
            return
        if not self.only_masked:
            self.values[access.location] = access, access.value
        for at, write in list(self.unread.items()):
            if not self._is_apart(write, access):
                del self.unread[at]

    def _write(self, access: Access) -> None:
        location = access.location
        if location in self.unread:
            self.unread[location].op.erase()
        for other, (known, _) in list(self.values.items()):
            if other == location or not self._is_apart(known, access):
                del self.values[other]
                self.unread.pop(other, None)
        if access.mask or not self.only_masked:
            self.values[location] = access, access.value
            self.unread[location] = access

    def _is_apart(self, first: Access, second: Access) -> bool:
        pair = first.location, second.location
        if pair not in self.apart:
            self.apart[pair] = first.is_apart(second)
        return self.apart[pair]


def _replace(load: Access, value: Value) -> None:
    """Use a known value; the masked lanes of a load have the elements of its last operand."""
    if load.mask:
        with load.op.location:
            rest = load.op.operands[len(load.op.operands) - 1]
            value = arith.select(*load.mask, value, rest, ip=InsertionPoint(load.op))
    load.value.replace_all_uses_with(value)
    load.op.erase()
