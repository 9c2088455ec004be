# SPDX-License-Identifier: Apache-2.0
"""The range of a kernel's loop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from xtc.core.errors import UserError
from xtc.tile.types import DataType, int32
from xtc.tile.values.runtime import Scalar


@dataclass(frozen=True)
class Range:
    """Like Python's range, over constants or run-time integers.

    Attributes:
        unroll: "all" to unroll completely, the number of iterations per unrolled
            body, or None.
    """

    start: Any
    stop: Any
    step: Any
    unroll: str | int | None = None

    @staticmethod
    def of(start: Any, end: Any = None, step: Any = None, unroll: Any = None) -> Range:
        """A range from the arguments of Python's `range`. Raises UserError."""
        bounds = (0, start) if end is None else (start, end)
        stride = 1 if step is None else step
        for number in (*bounds, stride):
            if isinstance(number, bool) or not isinstance(number, int | Scalar):
                raise UserError(
                    f"range takes integers, not {number!r}",
                    hints=[
                        "convert it: self.cast(x, dtype=int32) of a number, int(x) of a constant"
                    ],
                )
        if isinstance(stride, int) and stride == 0:
            raise UserError(
                "the step of range must not be 0", hints=["1 counts upwards, -1 downwards"]
            )
        is_count = isinstance(unroll, int) and not isinstance(unroll, bool) and unroll >= 1
        if unroll not in (None, "all") and not is_count:
            raise UserError(
                f"range(unroll={unroll!r})", hints=["unroll='all', or a number of 1 or more"]
            )
        if unroll == "all" and not all(isinstance(n, int) for n in (*bounds, stride)):
            raise UserError(
                "range(unroll='all') takes compile-time constants",
                hints=["unroll=4 for run-time bounds"],
            )
        return Range(bounds[0], bounds[1], stride, unroll)

    @property
    def is_known(self) -> bool:
        """Whether its bounds and step are constants."""
        return all(isinstance(number, int) for number in (self.start, self.stop, self.step))

    @property
    def dtype(self) -> DataType:
        """The type of its numbers: the widest of its bounds."""
        kinds = [n.dtype for n in (self.start, self.stop, self.step) if isinstance(n, Scalar)]
        return max(kinds, key=lambda dtype: dtype.bits) if kinds else int32

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.start, self.stop, self.step))

    def __len__(self) -> int:
        return len(range(self.start, self.stop, self.step))
