# SPDX-License-Identifier: Apache-2.0
"""Which rows of bytes the DMA moves for a copy, and how far they are apart on both sides."""

from __future__ import annotations

from dataclasses import dataclass

from xtc.ir.builders.tensors import Offset
from xtc.ir.mlir import Operation
from xtc_targets.mppa.passes import _control as control
from xtc_targets.mppa.passes import _device as device
from xtc_targets.mppa.passes import _views as views
from xtc_targets.mppa.passes._effects import dma_target


@dataclass(frozen=True)
class Dimension:
    """A size, and the distance of neighbours on both sides, in elements."""

    size: Offset
    smem: int
    ddr: int


def sides_of(op: Operation) -> tuple[views.Place, views.Place]:
    """Where a `memref.dma_start` finds SMEM and DDR."""
    source, target = op.operands[0], dma_target(op)
    sides = (target, source) if device.is_local(target) else (source, target)
    return views.place(sides[0]), views.place(sides[1])


def rows_of(
    smem: views.Place, ddr: views.Place
) -> tuple[Offset, Dimension | None, list[Dimension]]:
    """The elements of a row, the dimension that counts rows, and the others."""
    dims = [Dimension(*one) for one in zip(smem.sizes, smem.strides, ddr.strides, strict=True)]
    row, others = _merged(dims)

    def worth(dim: Dimension) -> int:
        """As many rows as there are, where they do not overlap."""
        if isinstance(row, int) and min(dim.smem, dim.ddr) < row:
            return -1
        return dim.size if isinstance(dim.size, int) else 0

    counted = max(others, key=worth, default=None)
    return row, counted, [dim for dim in others if dim is not counted]


def _merged(dims: list[Dimension]) -> tuple[Offset, list[Dimension]]:
    """The elements of a row, and the dimensions that are left, merged."""
    merged: list[Dimension] = []
    for dim in dims:
        if dim.size == 1:
            continue
        last = merged[-1] if merged else None
        if last is not None and _is_dense(last, dim):
            merged[-1] = Dimension(control.multiply(last.size, dim.size), dim.smem, dim.ddr)
        else:
            merged.append(dim)
    if merged and merged[-1].smem == merged[-1].ddr == 1:
        return merged[-1].size, merged[:-1]
    return 1, merged


def _is_dense(outer: Dimension, inner: Dimension) -> bool:
    """Whether one dimension goes on where the other ends, on both sides."""
    if not isinstance(inner.size, int):
        return False
    return (outer.smem, outer.ddr) == (inner.size * inner.smem, inner.size * inner.ddr)
