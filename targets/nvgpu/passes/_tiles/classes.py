# SPDX-License-Identifier: Apache-2.0
"""Classes of register tiles with the same layout, and the instructions that relate them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from xtc.ir.mlir import Operation, RankedTensorType, Value

RELATED = ("tile.broadcast", "tile.reduce", "tile.transpose", "tile.reshape", "tile.dot")
"""Instructions that relate the layouts of their operands and results."""

_ALONE = (
    *("tile.load_global", "tile.store_global", "tile.load_shared", "tile.store_shared"),
    *("tile.view", "tile.printf"),
)
_ENDS = ("scf.yield", "scf.condition")


def is_tile(value: Value) -> bool:
    """Whether a value is a tile in registers."""
    return isinstance(value.type, RankedTensorType)


class Classes:
    """Union-find over the tiles of a kernel.

    Attributes:
        relations: for each class, the instructions that relate it to others.
    """

    def __init__(self, ops: Sequence[Operation]) -> None:
        self._numbers: dict[Value, int] = {}
        self._parents: list[int] = []
        for op in ops:
            self._join_around(op)
        self.relations: dict[int, list[Operation]] = defaultdict(list)
        for op in ops:
            if op.name in RELATED:
                for value in (*op.operands, *op.results):
                    if op not in self.relations[self.of(value)]:
                        self.relations[self.of(value)].append(op)

    def of(self, value: Value) -> int:
        """The index of a tile's class."""
        if value not in self._numbers:
            self._numbers[value] = len(self._parents)
            self._parents.append(len(self._parents))
        number = self._numbers[value]
        while self._parents[number] != number:
            number = self._parents[number]
        return number

    def _join(self, values: Sequence[Value]) -> None:
        tiles = [value for value in values if is_tile(value)]
        for value in tiles[1:]:
            self._parents[self.of(value)] = self.of(tiles[0])

    def _join_rows(self, *columns: Iterable[Value]) -> None:
        for row in zip(*columns, strict=True):
            self._join(row)

    def _join_around(self, op: Operation) -> None:
        """Join the tiles that an operation passes on unchanged, or computes elementwise."""
        if op.name == "scf.for":
            body = op.regions[0].blocks[0]
            carried, inside = list(op.operands)[3:], list(body.arguments)[1:]
            self._join_rows(carried, inside, _end(body).operands, op.results)
        elif op.name == "scf.while":
            before, after = (region.blocks[0] for region in op.regions)
            self._join_rows(op.operands, before.arguments, _end(after).operands)
            self._join_rows(list(_end(before).operands)[1:], after.arguments, op.results)
        elif op.name == "scf.if":
            ends = [_end(region.blocks[0]).operands for region in op.regions if region.blocks]
            if len(op.results):
                self._join_rows(*ends, op.results)
        elif op.name in ("tile.dot", "tile.wgmma"):
            self._join((op.operands[2], op.results[0]))
        elif op.name not in (*RELATED, *_ALONE, *_ENDS) and not len(op.regions):
            self._join((*op.operands, *op.results))


def _end(block: object) -> Operation:
    operations = block.operations  # type: ignore[attr-defined]
    found: Operation = operations[len(operations) - 1].operation
    return found
