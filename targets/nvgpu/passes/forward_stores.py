# SPDX-License-Identifier: Apache-2.0
"""forward-stores: forwards the values of earlier accesses to loads, and removes dead stores."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from xtc.ir.analysis.accesses import Access
from xtc.ir.mlir import Block, Operation, Type, Value, all_operations
from xtc.ir.passes import Pass
from xtc_targets.nvgpu.passes._kernels import kernels

_Location = tuple[Value, tuple[Value, ...], Type]
_PURE = ("arith.", "math.", "affine.", "ub.", "vector.broadcast", "vector.extract", "vector.from_")


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
    """

    name: ClassVar[str] = "forward-stores"

    def run(self, module: Operation) -> None:
        for kernel in kernels(module):
            apart: dict[tuple[_Location, _Location], bool] = {}
            regions = [region for op in all_operations(kernel) for region in op.regions]
            for block in [block for region in regions for block in region.blocks]:
                _Walk(apart).run(block)


@dataclass
class _Walk:
    """A forward walk over a block.

    Attributes:
        apart: whether two locations are disjoint, for the pairs compared so far.
        values: the last access to each location, and the value there.
        unread: the last store to each location that has not been read since.
    """

    apart: dict[tuple[_Location, _Location], bool]
    values: dict[_Location, tuple[Access, Value]] = field(default_factory=dict)
    unread: dict[_Location, Access] = field(default_factory=dict)

    def run(self, block: Block) -> None:
        for op in [operation.operation for operation in block.operations]:
            access = Access.of(op)
            if access is None:
                if not _is_pure(op):
                    self.values.clear()
                    self.unread.clear()
            elif access.is_write:
                self._write(access)
            else:
                self._read(access)

    def _read(self, access: Access) -> None:
        location = _location(access)
        if location in self.values:
            access.value.replace_all_uses_with(self.values[location][1])
            access.op.erase()
            return
        self.values[location] = access, access.value
        for other, write in list(self.unread.items()):
            if not self._is_apart(other, write, location, access):
                del self.unread[other]

    def _write(self, access: Access) -> None:
        location = _location(access)
        if location in self.unread:
            self.unread[location].op.erase()
        for other, (known, _) in list(self.values.items()):
            if other == location or not self._is_apart(other, known, location, access):
                del self.values[other]
                self.unread.pop(other, None)
        self.values[location] = access, access.value
        self.unread[location] = access

    def _is_apart(self, a: _Location, first: Access, b: _Location, two: Access) -> bool:
        if (a, b) not in self.apart:
            self.apart[a, b] = first.is_apart(two)
        return self.apart[a, b]


def _location(access: Access) -> _Location:
    return access.memref, access.indices, access.value.type


def _is_pure(op: Operation) -> bool:
    """Whether an operation other than a load or store neither reads nor writes memory."""
    return bool(op.name.startswith(_PURE))
