# SPDX-License-Identifier: Apache-2.0
"""Whether, element by element, all uses of one buffer precede all uses of another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from xtc.ir.analysis.effects import written_memrefs
from xtc.ir.analysis.views import VIEWS
from xtc.ir.mlir import (
    AffineMap,
    AffineMapAttr,
    MemRefType,
    Operation,
    Value,
    get_indexing_maps,
)
from xtc_targets.host.passes._boxes import Loop, box_of, loop_of, offset_of

_LOOPS = ("scf.for", "scf.forall")
_KNOWN = ("linalg.", "vector.transfer_", "memref.copy", "memref.load", "memref.store")


@dataclass(frozen=True)
class Use:
    """An operation that reads or writes a view of a buffer."""

    op: Operation
    number: int

    @property
    def view(self) -> Value:
        """The view that the operation reads or writes."""
        return self.op.operands[self.number]

    @property
    def is_overwriting(self) -> bool:
        """Whether it writes all elements of its view, and reads none of them."""
        if self.op.name == "memref.copy":
            return self.number == 1
        if not self.op.name.startswith("linalg.") or self.view not in written_memrefs(self.op):
            return False
        index_map = _maps(self.op)[self.number]
        is_read = any(self.op.regions[0].blocks[0].arguments[self.number].uses)
        return bool(index_map.is_permutation and not is_read)


def uses_of(buffer: Value) -> Iterator[Use]:
    """The uses of a buffer and of its views, except by views."""
    for use in buffer.uses:
        op = use.owner.operation
        if op.name in VIEWS:
            yield from uses_of(op.results[0])
        else:
            yield Use(op, use.operand_number)


def is_known(use: Use) -> bool:
    """Whether an operation only reads or writes the elements of a view, of known shape."""
    return use.op.name.startswith(_KNOWN) and bool(MemRefType(use.view.type).has_static_shape)


def come_before(first: Sequence[Use], later: Sequence[Use], shape: Sequence[int]) -> bool:
    """Whether all uses of one buffer come before those of another, for each element.

    Both are dense, with elements of equal size, and `shape` has as many elements as each. If the
    two shared memory, no use of the first would see a value that a use of the other has written.
    """
    return all(_comes_before(use, other, shape) for use in first for other in later)


def _comes_before(use: Use, other: Use, shape: Sequence[int]) -> bool:
    around = _common_ancestors(use.op, other.op)
    loops = _loops(around)
    if loops is None:
        return False
    box, other_box = (box_of(which.view, shape, loops) for which in (use, other))
    if box is None or other_box is None:
        return False
    if box.is_apart(other_box):
        return True
    if not box.stays(other_box, loops):
        return False
    if use.op == other.op:
        return _is_elementwise(use, other)
    return _is_earlier(use.op, other.op, len(around)) or not box.meets(other_box)


def _ancestors(op: Operation) -> list[Operation]:
    """The operations around `op` inside its function, the outermost first."""
    found: list[Operation] = []
    around = op.parent.operation
    while around.name != "func.func":
        found.insert(0, around)
        around = around.parent.operation
    return found


def _common_ancestors(op: Operation, other: Operation) -> list[Operation]:
    pairs = zip(_ancestors(op), _ancestors(other), strict=False)
    return [around for around, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]


def _loops(around: Sequence[Operation]) -> dict[Value, Loop] | None:
    """The indices of loops; None if one has unknown bounds, or if another operation is around."""
    found: dict[Value, Loop] = {}
    for op in around:
        if op.name not in _LOOPS:
            return None
        arguments = op.regions[0].blocks[0].arguments
        counters = [arguments[0]] if op.name == "scf.for" else list(arguments)
        for counter in counters:
            loop = loop_of(counter)
            if loop is None:
                return None
            found[counter] = loop
    return found


def _is_earlier(op: Operation, other: Operation, depth: int) -> bool:
    """Whether `op` precedes `other` in an iteration of the `depth` loops around both."""
    first, second = ([*_ancestors(of), of][depth] for of in (op, other))
    return bool(first.block == second.block and first.is_before_in_block(second))


def _is_elementwise(use: Use, other: Use) -> bool:
    """Whether an operation reads each element only in the iteration that writes it."""
    if not use.op.name.startswith("linalg.") or not _is_same_view(use.view, other.view):
        return False
    maps = _maps(use.op)
    return bool(maps[use.number] == maps[other.number] and maps[other.number].is_permutation)


def _maps(op: Operation) -> list[AffineMap]:
    """The indexing maps of a linalg operation."""
    return [AffineMapAttr(found).value for found in get_indexing_maps(op)]


def _is_same_view(view: Value, other: Value) -> bool:
    """Whether two views cover the same element numbers of their buffers, in the same order."""
    types = [MemRefType(value.type) for value in (view, other)]
    layouts = [(type.shape, type.get_strides_and_offset()[0]) for type in types]
    return layouts[0] == layouts[1] and offset_of(view) == offset_of(other)
