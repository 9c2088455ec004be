# SPDX-License-Identifier: Apache-2.0
"""forward-stores: loads take the value of an earlier access; overwritten stores go."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from xtc.ir.analysis.accesses import Access
from xtc.ir.mlir import Block, Operation, Type, Value, all_operations
from xtc.ir.passes import Pass
from xtc_targets.nvgpu.passes._kernels import kernels

_Place = tuple[Value, tuple[Value, ...], Type]
_PURE = ("arith.", "math.", "affine.", "ub.", "vector.broadcast", "vector.extract", "vector.from_")


@dataclass(frozen=True)
class ForwardStores(Pass):
    """Keep the value of a location in a register from one access to the next.

    Before:
        %a = memref.load %c[%i] ; memref.store %x, %c[%i]
        %b = memref.load %c[%i] ; memref.store %y, %c[%i]
    After, where nothing in between can touch the place:
        %a = memref.load %c[%i] ; (%x in the place of %b) ; memref.store %y, %c[%i]

    Copies of an unrolled loop body have such accesses. `hoist-accumulators` can take the rest out
    of the loop around them only when these are gone.
    """

    name: ClassVar[str] = "forward-stores"

    def run(self, module: Operation) -> None:
        for kernel in kernels(module):
            apart: dict[tuple[_Place, _Place], bool] = {}
            regions = [region for op in all_operations(kernel) for region in op.regions]
            for block in [block for region in regions for block in region.blocks]:
                _Walk(apart).run(block)


@dataclass
class _Walk:
    """One block, from its first operation to its last.

    Attributes:
        apart: which places cannot overlap, as far as anybody has asked.
        values: what is at a place.
        unread: the last write to a place, where nothing has read it.
    """

    apart: dict[tuple[_Place, _Place], bool]
    values: dict[_Place, tuple[Access, Value]] = field(default_factory=dict)
    unread: dict[_Place, Access] = field(default_factory=dict)

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
        place = _place(access)
        if place in self.values:
            access.value.replace_all_uses_with(self.values[place][1])
            access.op.erase()
            return
        self.values[place] = access, access.value
        for other, write in list(self.unread.items()):
            if not self._is_apart(other, write, place, access):
                del self.unread[other]

    def _write(self, access: Access) -> None:
        place = _place(access)
        if place in self.unread:
            self.unread[place].op.erase()
        for other, (known, _) in list(self.values.items()):
            if other == place or not self._is_apart(other, known, place, access):
                del self.values[other]
                self.unread.pop(other, None)
        self.values[place] = access, access.value
        self.unread[place] = access

    def _is_apart(self, a: _Place, first: Access, b: _Place, two: Access) -> bool:
        if (a, b) not in self.apart:
            self.apart[a, b] = first.is_apart(two)
        return self.apart[a, b]


def _place(access: Access) -> _Place:
    return access.memref, access.indices, access.value.type


def _is_pure(op: Operation) -> bool:
    """Whether an operation that is no access leaves all memory as it is, and reads none."""
    return bool(op.name.startswith(_PURE))
