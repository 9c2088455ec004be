# SPDX-License-Identifier: Apache-2.0
"""Contractions without tensor cores, and their tiles of blocks and threads."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

from xtc.ir.analysis.contractions import contraction
from xtc.ir.analysis.structured import Structured
from xtc.ir.mlir import Value
from xtc_targets.nvgpu.description import ACCESS_BYTES

_ROW_BYTES = 64  # of a tile along K: two sectors of 32 bytes
_ACCUMULATORS = 64  # of a thread, in registers
_THREADS = (128, 256)  # of a block: four warps hide latency; more do not allow larger tiles
_SIDES = (16, 32, 64, 128)  # of a block's tile
_LOAD_COST = 32  # cost of loading an element of an operand, in multiply-adds
_STEP_COST = 8192  # cost of two barriers and their waits, in multiply-adds


@dataclass(frozen=True, eq=False)
class CoreContraction:
    """c[.., m, n] += a[.., m, k] * b[.., k, n], with b and c contiguous along n.

    Attributes:
        nest: the structured op.
        a, b: the indices of its operands.
        m, n, k: its loops.
        batch: its other loops.
    """

    nest: Structured
    a: int
    b: int
    m: int
    n: int
    k: int
    batch: tuple[int, ...]

    def size(self, loop: int) -> int:
        """The extent of a loop."""
        return self.nest.extents[loop]


@dataclass(frozen=True)
class Tile:
    """The tiles of the result that a block and a thread compute.

    Attributes:
        rows, columns: size of a block's tile.
        own_rows, own_columns: size of a thread's tile.
        depth: K extent of the tiles in shared memory.
    """

    rows: int
    columns: int
    own_rows: int
    own_columns: int
    depth: int

    @property
    def threads(self) -> int:
        """Threads per block."""
        return (self.rows // self.own_rows) * (self.columns // self.own_columns)

    @property
    def cost(self) -> int:
        """The time of a block for one tile of K, in multiply-adds of the machine.

        Shared memory delivers 32 words in the time of 128 multiply-adds: a warp reads a vector of b
        in four such steps, and a vector of four elements of a, which its threads share, in one.
        """
        busy = max(self.own_rows, self.own_rows // 4 + 4)
        loads = _LOAD_COST * (self.rows + self.columns)
        return self.depth * (self.threads * self.own_columns * busy + loads) + _STEP_COST


def core_contraction(nest: Structured) -> CoreContraction | None:
    """The operation as a contraction; None for others, and if rows are not contiguous."""
    found = contraction(nest)
    if found is None or len(found.roles.k) != 1:
        return None
    if any(index.loop is None for row in nest.indices for index in row):
        return None
    found, n = found.with_columns(nest.vector_loop), nest.vector_loop
    if found is None or n is None or not found.roles.m:
        return None
    m = next(loop for loop in reversed(nest.out) if loop in found.roles.m)
    batch = tuple(loop for loop in nest.out if loop not in (m, n))
    return CoreContraction(nest, found.a, found.b, m, n, found.roles.k[0], batch)


def tile_of(contraction: CoreContraction, sms: int) -> Tile | None:
    """The tile with the shortest total time on a GPU of `sms` multiprocessors.

    None if there is too little work for a tile to pay off. Partial tiles at the border count as
    full ones.
    """
    m, n, k = (contraction.size(loop) for loop in (contraction.m, contraction.n, contraction.k))
    batch = math.prod(contraction.size(loop) for loop in contraction.batch)

    def blocks(tile: Tile) -> int:
        return batch * -(-m // tile.rows) * -(-n // tile.columns)

    def pays(tile: Tile) -> bool:
        steps = (m, tile.rows), (n, tile.columns), (k, tile.depth)
        done = math.prod(-(-size // step) * step for size, step in steps)
        return blocks(tile) > 1 and done <= 2 * m * n * k

    def cost(tile: Tile) -> tuple[int, int]:
        iterations = -(-blocks(tile) // sms)
        return iterations * -(-k // tile.depth) * tile.cost, -tile.threads

    return min(filter(pays, _tiles(contraction)), key=cost, default=None)


def _tiles(contraction: CoreContraction) -> Iterator[Tile]:
    operands = contraction.nest.op.operands
    element_bytes = max(_bytes(operands[contraction.a]), _bytes(operands[contraction.b]))
    depths = [depth for depth in (64, 32, 16, 8, 4) if depth * element_bytes <= _ROW_BYTES]
    lanes = max(1, ACCESS_BYTES // _bytes(operands[contraction.nest.destination]))
    words = max(1, _bytes(operands[contraction.nest.destination]) // 4)
    for rows, columns, own in itertools.product(_SIDES, _SIDES, (16, 8, 4, 2)):
        several = rows > own and columns > lanes
        for depth in depths if several and own * lanes * words <= _ACCUMULATORS else ():
            tile = Tile(rows, columns, own, lanes, depth)
            if _THREADS[0] <= tile.threads <= _THREADS[1]:
                yield tile


def _bytes(value: Value) -> int:
    return max(1, int(value.type.element_type.width) // 8)
