# SPDX-License-Identifier: Apache-2.0
"""What mbarriers are for a kernel: names of memory that arrivals and bytes are counted in."""

from __future__ import annotations

from typing import Any

from xtc.core.errors import UserError
from xtc.ir.mlir import Value
from xtc.tile.arithmetic import cast, data
from xtc.tile.types import int32
from xtc.tile.values import Data


class Barrier:
    """A barrier in shared memory; of the block of `rank` in the cluster, None: of this block."""

    def __init__(self, memory: Value, index: Any, rank: Any = None) -> None:
        self.memory, self.index, self.rank = memory, index, rank

    @property
    def operands(self) -> tuple[Value, Value]:
        """What operations take: the barriers that were allocated together, and which of them."""
        return self.memory, cast(data(self.index, int32), int32).value

    def __repr__(self) -> str:
        return "an mbarrier"


class Barriers:
    """Several barriers, of which an index of run time names each; `rank` as in `Barrier`."""

    def __init__(self, memory: Value, count: int, rank: Any = None) -> None:
        self.memory, self.count, self.rank = memory, count, rank

    def __getitem__(self, index: Any) -> Barrier:
        if isinstance(index, tuple | slice) or not isinstance(index, int | Data):
            raise UserError(
                f"{index!r} is no index of {self!r}",
                hints=["an integer, known when compiling or at run time"],
            )
        if isinstance(index, int) and not 0 <= index < self.count:
            raise UserError(
                f"index {index} is outside of {self!r}",
                hints=["allocate more: self.mbarrier.alloc([1, 1, 1])"],
            )
        return Barrier(self.memory, index, self.rank)

    def __len__(self) -> int:
        return self.count

    def tolist(self) -> list[Barrier]:
        """Each barrier, to give them names."""
        return [self[index] for index in range(self.count)]

    def __repr__(self) -> str:
        return f"{self.count} mbarriers"


def barrier_of(value: Any, name: str) -> Barrier:
    """The barrier; the only one where a list has one. Raises UserError for anything else."""
    if isinstance(value, Barriers) and value.count == 1:
        return value[0]
    if isinstance(value, Barriers):
        raise UserError(f"{name} takes a barrier, not {value!r}", hints=["index them"])
    if not isinstance(value, Barrier):
        raise UserError(
            f"{name} takes a barrier that mbarrier.alloc made, not {value!r}",
            hints=["barriers = self.mbarrier.alloc([1, 1]), and then barriers[0]"],
        )
    return value
