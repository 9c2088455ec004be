# SPDX-License-Identifier: Apache-2.0
"""Distributes a `tile.dot` over a block's warps by the layouts of its operands and result."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from xtc.core.tile_layout import (
    RegisterLayout,
    column_local,
    column_spatial,
    local,
    spatial,
)
from xtc.ir.attributes import TF32
from xtc.ir.mlir import Operation, RankedTensorType
from xtc_targets.nvgpu.passes._kernels import WARP

M_STEP, N_STEP, K_STEP = 16, 8, 16
"""The extents of an mma.sync with 16-bit operands."""

_PACKED = MappingProxyType(
    {
        **{(narrow, total): 2 for narrow in ("f16", "bf16") for total in (narrow, "f32")},
        ("i8", "i32"): 4,
    }
)
"""Elements per register, by the types of the operands and of the result of a dot.

Accumulators of 16 bits are widened before the first mma.sync, and rounded after the last one.
"""

_MOST_PADDING = 4
"""Multiply-adds of mma.sync in a padded tile for each one in the tile."""

_NEIGHBORS = 4  # elements of a row or column that a thread holds one after the other


@dataclass(frozen=True)
class DotLayouts:
    """The layouts of `a @ b + c`.

    Attributes:
        step: the K extent of an mma.sync; 0 if threads multiply single elements.
    """

    step: int
    a: RegisterLayout
    b: RegisterLayout
    c: RegisterLayout


def dot_layouts(op: Operation, threads: int, rows_only: bool) -> DotLayouts:
    """The layouts of a dot; with `rows_only`, warps do not share rows, if that is possible."""
    a, b, c = (RankedTensorType(value.type) for value in op.operands)
    m, k, n = a.shape[0], a.shape[1], b.shape[1]
    types = str(a.element_type), str(c.element_type)
    packed = _PACKED.get(types, 1 if TF32 in op.attributes else 0)
    step, warps = packed * K_STEP // 2, threads // WARP
    if not step or not warps:
        return _simt(m, n, k, threads)
    wide = [-(-size // unit) * unit for size, unit in ((m, M_STEP), (n, N_STEP), (k, step))]
    if math.prod(wide) > _MOST_PADDING * m * n * k:
        return _simt(m, n, k, threads)
    return _mma(*wide, _warps(*wide[:2], warps, rows_only), warps, packed)


@cache
def _warps(m: int, n: int, warps: int, rows_only: bool) -> tuple[int, int]:
    """Warps along rows and columns that read the fewest rows and columns in total."""

    def cost(pair: tuple[int, int]) -> tuple[bool, int, float, int]:
        rows, columns = pair
        odd = (n // columns) % (2 * N_STEP) != 0
        unlike = rows_only and columns > 1
        return unlike, -rows * columns, (m / rows + n / columns) * (1.25 if odd else 1), columns

    possible = [
        (rows, columns)
        for rows in _powers(warps)
        for columns in _powers(warps // rows)
        if m % (rows * M_STEP) == 0 and n % (columns * N_STEP) == 0
    ]
    return min(possible, key=cost)


@cache
def _mma(m: int, n: int, k: int, warps: tuple[int, int], count: int, packed: int) -> DotLayouts:
    rows, columns = warps
    grid = spatial(rows, columns)
    spare = count // (rows * columns)
    a, b, c = _fragments(grid, m // rows, n // columns, k, packed)
    step = packed * K_STEP // 2
    return DotLayouts(step, _spared(a, spare), _spared(b, spare), _spared(c, spare))


@cache
def step_layouts(m: int, n: int, warps: tuple[int, int], element_bytes: int) -> DotLayouts:
    """The layouts of one step of `mma.sync` along K; the first warps share columns.

    Elements of 4 bytes are TF32.
    """
    rows, columns = warps
    grid, packed = column_spatial(rows, columns), 4 // element_bytes
    a, b, c = _fragments(grid, m // rows, n // columns, 8 * packed, packed)
    return DotLayouts(8 * packed, a.merged(), b.merged(), c.merged())


def _fragments(
    grid: RegisterLayout, m: int, n: int, k: int, packed: int
) -> tuple[RegisterLayout, RegisterLayout, RegisterLayout]:
    """The layouts of operands and result, if a warp has `m` rows and `n` columns.

    A register contains `packed` elements along K ("PTX ISA", matrix fragments for mma.m16n8k16 and
    mma.m16n8k8).
    """
    mi, ni, ki = m // M_STEP, n // N_STEP, k // (8 * packed)
    c = grid * local(mi, ni) * local(2, 1) * spatial(8, 4) * local(1, 2)
    a = grid.reduced([1]) * local(mi, ki) * column_local(2, 2) * spatial(8, 4) * local(1, packed)
    b = grid.reduced([0]) * local(ki, ni) * local(2, 1) * column_spatial(4, 8) * local(packed, 1)
    return a, b, c


@cache
def _simt(m: int, n: int, k: int, threads: int) -> DotLayouts:
    """Layouts for multiplication by threads, each of which has the fewest elements of the result,
    and of these the fewest rows and columns."""

    def held(grid: tuple[int, int, int, int]) -> tuple[int, int]:
        rows, columns, high, wide = grid
        return -(-m // (rows * high)) * high, -(-n // (columns * wide)) * wide

    def cost(grid: tuple[int, int, int, int]) -> tuple[int, int, int, int, int]:
        (rows, columns, high, wide), (own_rows, own_columns) = grid, held(grid)
        padding = rows * own_rows * columns * own_columns
        return own_rows * own_columns, own_rows + own_columns, padding, -wide, -high

    sizes = [size for size in range(1, threads + 1) if threads % size == 0]
    lengths = [1 << bit for bit in range(_NEIGHBORS.bit_length())]
    grids = itertools.product(sizes, sizes, lengths, lengths)
    best = min((grid for grid in grids if threads % (grid[0] * grid[1]) == 0), key=cost)
    (rows, columns, high, wide), (own_rows, own_columns) = best, held(best)
    c = local(own_rows // high, own_columns // wide) * spatial(rows, columns) * local(high, wide)
    c = _spared(c, threads // (rows * columns))
    a = c.reduced([1]) * local(1, k)
    b = local(k, 1) * c.reduced([0])
    return DotLayouts(0, a.merged(), b.merged(), c)


def _spared(layout: RegisterLayout, threads: int) -> RegisterLayout:
    """The same layouts with additional warps that replicate the work."""
    if threads == 1:
        return layout.merged()
    return RegisterLayout(
        layout.shape, layout.modes, (-threads, *layout.spatial_modes), layout.local_modes
    ).merged()


def _powers(limit: int) -> list[int]:
    return [1 << bit for bit in range(limit.bit_length()) if limit % (1 << bit) == 0]
