# SPDX-License-Identifier: Apache-2.0
"""The rows of bytes of a transfer, and the strides between them on both sides."""

from __future__ import annotations

from dataclasses import dataclass

from xtc.ir.builders import numbers
from xtc.ir.builders.slices import Offset
from xtc.ir.mlir import Operation
from xtc_passes.local import _view_layouts as layouts
from xtc_passes.local._memory import LocalMemory
from xtc_passes.local._transfers import target_of
from xtc_passes.local._view_layouts import Layout


@dataclass(frozen=True)
class Dimension:
    """A size, and the distance between neighbors in local and in main memory, in elements."""

    size: Offset
    local: int
    main: int


@dataclass(frozen=True)
class Rows:
    """The rows of a transfer.

    Attributes:
        elements: number of elements of a row, which are contiguous on both sides.
        counted: the dimension whose rows one command copies; None where a command copies one row.
        outer: the other dimensions, outermost first: one command for each of their iterations.
    """

    elements: Offset
    counted: Dimension | None
    outer: list[Dimension]


def sides_of(start: Operation, memory: LocalMemory) -> tuple[Layout, Layout]:
    """The layouts of a `memref.dma_start` in local and in main memory."""
    source, target = start.operands[0], target_of(start)
    sides = (target, source) if memory.holds(target) else (source, target)
    return layouts.layout(sides[0]), layouts.layout(sides[1])


def rows_of(local: Layout, main: Layout, *, counts_rows: bool) -> Rows:
    """The rows of a transfer; `counts_rows` if one command copies several rows at fixed strides."""
    dims = [
        Dimension(*sizes) for sizes in zip(local.sizes, local.strides, main.strides, strict=True)
    ]
    elements, others = _merged(dims)
    if not counts_rows:
        return Rows(elements, None, others)

    def worth(dim: Dimension) -> int:
        """The number of rows, if they do not overlap."""
        if isinstance(elements, int) and min(dim.local, dim.main) < elements:
            return -1
        return dim.size if isinstance(dim.size, int) else 0

    counted = max(others, key=worth, default=None)
    return Rows(elements, counted, [dim for dim in others if dim is not counted])


def _merged(dims: list[Dimension]) -> tuple[Offset, list[Dimension]]:
    """The elements of a row and the remaining dimensions; dimensions without gaps are merged."""
    merged: list[Dimension] = []
    for dim in dims:
        if dim.size == 1:
            continue
        last = merged[-1] if merged else None
        if last is not None and _is_dense(last, dim):
            merged[-1] = Dimension(numbers.multiply(last.size, dim.size), dim.local, dim.main)
        else:
            merged.append(dim)
    if merged and merged[-1].local == merged[-1].main == 1:
        return merged[-1].size, merged[:-1]
    return 1, merged


def _is_dense(outer: Dimension, inner: Dimension) -> bool:
    """Whether the outer dimension continues where the inner one ends, on both sides."""
    if not isinstance(inner.size, int):
        return False
    return (outer.local, outer.main) == (inner.size * inner.local, inner.size * inner.main)
