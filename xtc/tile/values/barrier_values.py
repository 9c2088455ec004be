# SPDX-License-Identifier: Apache-2.0
"""The values that represent mbarriers in a kernel."""

from __future__ import annotations

from typing import Any

from xtc.core.errors import UserError
from xtc.ir.mlir import Value
from xtc.tile.types import int32
from xtc.tile.values.arithmetic import cast, data
from xtc.tile.values.runtime import Data


class Barrier:
    """A barrier in the shared memory of block `rank` of the cluster, or of this block if None."""

    def __init__(self, memory: Value, index: Any, rank: Any = None) -> None:
        self.memory, self.index, self.rank = memory, index, rank

    @property
    def operands(self) -> tuple[Value, Value]:
        """The operands of operations: the array of barriers, and the index of this one."""
        return self.memory, cast(data(self.index, int32), int32).value

    def __repr__(self) -> str:
        return "an mbarrier"


class Barriers:
    """An array of barriers that a run-time index selects from; `rank` as in `Barrier`."""

    def __init__(self, memory: Value, count: int, rank: Any = None) -> None:
        self.memory, self.count, self.rank = memory, count, rank

    def __getitem__(self, index: Any) -> Barrier:
        if isinstance(index, tuple | slice) or not isinstance(index, int | Data):
            raise UserError(
                f"{index!r} is not an index of {self!r}",
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
        """The barriers as a list, for unpacking."""
        return [self[index] for index in range(self.count)]

    def __repr__(self) -> str:
        return f"{self.count} mbarriers"


def barrier_of(value: Any, name: str) -> Barrier:
    """The barrier, or the only one of an array. Raises UserError for anything else."""
    if isinstance(value, Barriers) and value.count == 1:
        return value[0]
    if isinstance(value, Barriers):
        raise UserError(f"{name} takes a barrier, not {value!r}", hints=["index them"])
    if not isinstance(value, Barrier):
        raise UserError(
            f"{name} takes a barrier from mbarrier.alloc, not {value!r}",
            hints=["barriers = self.mbarrier.alloc([1, 1]), and then barriers[0]"],
        )
    return value
