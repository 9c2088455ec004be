# SPDX-License-Identifier: Apache-2.0
"""forward-masked-stores: lets masked loads use the values of equal masked stores before them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.accesses import Access, are_distinct
from xtc.ir.analysis.effects import written_memrefs
from xtc.ir.mlir import Block, InsertionPoint, Operation, Value, all_operations, arith
from xtc.ir.passes import Pass

_LOAD = "vector.maskedload"
_Location = tuple[object, ...]


@dataclass(frozen=True)
class ForwardMaskedStores(Pass):
    """Let a masked load use the value of a masked store to the same address with the same mask.

    The rows of a register tile whose last lanes are masked overlap: the masked lanes of one row are
    elements of the next. A processor does not forward such stores to loads, and LLVM does not
    either. It forwards plain vectors, and removes stores that are overwritten.

    Before:
        vector.maskedstore %c[%i], %mask, %v
        %w = vector.maskedload %c[%i], %mask, %zeros
    After:
        vector.maskedstore %c[%i], %mask, %v
        %w = arith.select %mask, %v, %zeros
    """

    name: ClassVar[str] = "forward-masked-stores"

    def run(self, module: Operation) -> None:
        loads = [op for op in all_operations(module) if op.name == _LOAD]
        blocks = {op.block: None for op in loads}
        with module.context:
            for block in blocks:
                _forward(block)


def _forward(block: Block) -> None:
    """Forward the stores of a block to the loads behind them."""
    stored: dict[_Location, Access] = {}
    for op in [entry.operation for entry in block.operations]:
        access = Access.of(op)
        if access is None:
            stored = _left(stored, op)
        elif access.is_write:
            stored = {at: other for at, other in stored.items() if other.is_apart(access)}
            if access.mask:
                stored[access.location] = access
        elif access.mask and access.location in stored:
            _replace(op, stored[access.location].value)


def _left(stored: dict[_Location, Access], op: Operation) -> dict[_Location, Access]:
    """The stores that an operation of another kind does not overwrite."""
    written = written_memrefs(op)
    return {
        at: access
        for at, access in stored.items()
        if all(are_distinct(access.memref, value) for value in written)
    }


def _replace(load: Operation, value: Value) -> None:
    """Use a stored value; masked lanes of a load have the elements of its last operand."""
    *_, mask, rest = load.operands
    with load.location:
        chosen = arith.select(mask, value, rest, ip=InsertionPoint(load))
    load.results[0].replace_all_uses_with(chosen)
    load.erase()
