# SPDX-License-Identifier: Apache-2.0
"""join-rows: joins consecutive operations on the same rows into one launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from xtc.ir.analysis.structured import Structured, shape_of, structured
from xtc.ir.attributes import KERNEL
from xtc.ir.mlir import Block, IntegerAttr, IntegerType, Operation, Value
from xtc.ir.partition import top_level
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_targets.upmem.passes._shards import row_dimension, row_loop

_ROOM = 2600
"""The most instructions of a launch, of the 3,968 that fit: counts are estimates, and copies need
some too."""
_OPERATION, _LOOP, _BODY, _FUNCTION = 100, 60, 25, 400
"""Instructions of an operation, of each of its loops, of each operation in its body (short loops
are unrolled eight times), and of a function such as exp."""
_BESIDE = ("arith.constant", "tensor.empty", "func.return")


@dataclass(frozen=True)
class JoinRows(Pass):
    """Join a chain of operations into one launch, whose data stays on its DPU.

    Before:
        %0 = linalg.fill {xtc.kernel = 0} ... ; %c = linalg.matmul {xtc.kernel = 0} ins(%a, %v)
        %1 = linalg.fill {xtc.kernel = 1} ... ; %d = linalg.matmul {xtc.kernel = 1} ins(%c, %w)
    After:
        the same with {xtc.kernel = 0} everywhere

    A DPU computes its rows of %c, then its rows of %d: tasklets synchronize in between, DPUs do
    not. An operation that reads other rows than it computes starts a new launch, except on a single
    DPU.

    Attributes:
        dpus: number of DPUs that share a kernel.
    """

    name: ClassVar[str] = "join-rows"
    dpus: int = 1

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        number = 0
        for function in top_level(module):
            for block in (block for region in function.regions for block in region.blocks):
                for chain in self._chains(block):
                    chain.mark(number)
                    number += 1

    def _chains(self, block: Block) -> list[_Chain]:
        chains = [_Chain()]
        for op in [inner.operation for inner in block.operations]:
            if op.name in _BESIDE or (op.name == "linalg.fill" and KERNEL in op.attributes):
                continue
            nest = structured(op) if len(op.results) == 1 else None
            if nest is None or not chains[-1].takes(nest, self.dpus):
                chains.append(_Chain())
            if nest is not None:
                chains[-1].add(nest)
        return [chain for chain in chains if chain.is_marked]


@dataclass(eq=False)
class _Chain:
    """The operations of one launch."""

    nests: list[Structured] = field(default_factory=list)

    def takes(self, nest: Structured, dpus: int) -> bool:
        """Whether the chain can take an operation next."""
        if not self.nests:
            return True
        if sum(map(_instructions, (*self.nests, nest))) > _ROOM:
            return False
        return dpus == 1 or self._has_rows_of(nest)

    def add(self, nest: Structured) -> None:
        self.nests.append(nest)

    @property
    def is_marked(self) -> bool:
        return len(self.nests) > 1 or any(KERNEL in nest.op.attributes for nest in self.nests)

    def mark(self, number: int) -> None:
        """Mark the operations and their fills with a number."""
        ops = [nest.op for nest in self.nests]
        fills = [fill for op in ops for fill in _own_fills(op)]
        i64 = IntegerType.get_signless(64, ops[0].context)
        for op in (*ops, *fills):
            op.attributes[KERNEL] = IntegerAttr.get(i64, number)

    def _has_rows_of(self, nest: Structured) -> bool:
        rows = _rows(self.nests[0])
        produced = [member.result for member in self.nests]
        return (
            rows is not None
            and rows == _rows(nest)
            and all(
                _walks_rows(nest, number, rows)
                for number, value in enumerate(nest.op.operands)
                if value in produced
            )
        )


def _instructions(nest: Structured) -> int:
    """An estimate of the instructions of an operation."""
    body = [op.operation.name for op in nest.body.operations]
    functions = sum(name.startswith("math.") for name in body)
    own = _LOOP * len(nest.extents) + _BODY * len(body) + _FUNCTION * functions
    return int(_OPERATION + own)


def _own_fills(op: Operation) -> Sequence[Operation]:
    """The fills that `join-fills` marked with the same number."""
    if KERNEL not in op.attributes:
        return []
    owners = [value.owner for value in op.operands if not isinstance(value.owner, Block)]
    ops = [owner.operation for owner in owners]
    return [fill for fill in ops if fill.name == "linalg.fill" and KERNEL in fill.attributes]


def _rows(nest: Structured) -> int | None:
    """The number of rows of the result, or None without a loop over rows."""
    loop = row_loop(nest)
    return None if loop is None else nest.extents[loop]


def _walks_rows(nest: Structured, number: int, rows: int) -> bool:
    """Whether an operation reads only the rows of an operand that it computes."""
    value: Value = nest.op.operands[number]
    row, loop = row_dimension(value), row_loop(nest)
    if row is None or loop is None or shape_of(value)[row] != rows:
        return False
    return nest.position(number, loop) == row
