# SPDX-License-Identifier: Apache-2.0
"""Building blocks of strategies: the axes of an operator by their role, and drafts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from xtc.loops import Space as LoopSpace

Nest = list[str]


@dataclass(frozen=True)
class Axes:
    """The axes of an operator by their role; axes of size 1 need no loops.

    Attributes:
        outer: axes of the result without register tiles.
        row: the axis of the result to unroll, or None.
        column: the last axis of the result, along which vectors are contiguous.
        sums: the reduction axes, the innermost last.
        computed: the operands that can be fused.
        operands: the number of operands.
    """

    outer: tuple[str, ...]
    row: str | None
    column: str
    sums: tuple[str, ...]
    computed: tuple[int, ...]
    operands: int = 0

    @staticmethod
    def of(space: LoopSpace) -> Axes | None:
        """The axes of an operator; None if its result is a scalar."""
        free = [axis.name for axis in space.axes if not axis.reduction]
        if not free:
            return None
        sums = [axis.name for axis in space.axes if axis.reduction]
        long = [name for name in free[:-1] if space.size(name) > 1]
        long_sums = [name for name in sums if space.size(name) > 1] or sums[-1:]
        row = long[-1] if long else None
        return Axes(
            tuple(long[:-1]), row, free[-1], tuple(long_sums), space.computed, space.operands
        )

    @property
    def rows(self) -> Nest:
        """The loop over rows, if there is one."""
        return [self.row] if self.row else []

    @property
    def tile(self) -> Nest:
        """The innermost loops: a register tile."""
        rows = [f"{self.row}#{self.row}R=unroll"] if self.row else []
        return [*rows, f"{self.column}#{self.column}R=vectorize"]


@dataclass
class Draft:
    """A strategy under construction."""

    parameters: dict[str, Any] = field(default_factory=dict)
    constraints: list[str] = field(default_factory=list)
    nests: list[Nest] = field(default_factory=list)

    def data(
        self, name: str, sums: Sequence[str], *, parallel: bool, serial: bool
    ) -> dict[str, Any]:
        nests = [_parallel(nest, sums) for nest in self.nests] if parallel else []
        nests += self.nests if serial else []
        words = set(re.findall(r"[#:](\w+)", " ".join(item for nest in nests for item in nest)))
        used = self.parameters.keys() & words
        parameters = {name: values for name, values in self.parameters.items() if name in used}
        return {
            "name": name,
            "parameters": parameters,
            "constraints": self.constraints,
            "nests": nests,
        }


def _parallel(nest: Nest, sums: Sequence[str]) -> Nest:
    """The nest with its outermost loop parallel, and also the next one if both are plain."""
    first, second, *rest = nest
    marked = f"{first}{',' if '=' in first else '='}parallelize"
    if not set("=#") & set(first + second) and second not in sums and rest:
        second = f"{second}=parallelize"
    return [marked, second, *rest]
