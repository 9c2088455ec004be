# SPDX-License-Identifier: Apache-2.0
"""Contractions without tensor cores, and the tiles that blocks and threads compute of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

from xtc.ir.analysis.contractions import contraction
from xtc.ir.analysis.structured import Structured
from xtc.ir.mlir import Value
from xtc_targets.nvgpu.description import ACCESS_BYTES

_ROW_BYTES = 64  # of a tile along the sum: two sectors of 32 bytes
_ACCUMULATORS = 64  # of a thread, in registers
_THREADS = (128, 256)  # of a block: four warps hide each other's latency, more take no more tile
_SIDES = (16, 32, 64, 128)  # of a block's tile
_LOAD_COST = 32  # of an element of either operand that a block loads, in multiply-adds
_STEP_COST = 8192  # of two barriers, and of what is waited for there


@dataclass(frozen=True, eq=False)
class CoreContraction:
    """c[.., m, n] += a[.., m, k] * b[.., k, n], neighbouring n side by side in b and c.

    Attributes:
        nest: the operation.
        a, b: the numbers of its operands.
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
        """Iterations of one of the loops."""
        return self.nest.extents[loop]


@dataclass(frozen=True)
class Tile:
    """The parts of the result that a block and a thread compute.

    Attributes:
        rows, columns: of the result, by a block.
        own_rows, own_columns: by a thread.
        depth: extent of K that is in shared memory at once.
    """

    rows: int
    columns: int
    own_rows: int
    own_columns: int
    depth: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return (self.rows // self.own_rows) * (self.columns // self.own_columns)

    @property
    def cost(self) -> int:
        """The time of a block for one tile of K, in multiply-adds of the machine.

        Shared memory delivers 32 words in the time of 128 multiply-adds: a warp reads a vector of b
        in four such steps, and a vector of a, four elements that all its threads share, in one.
        """
        busy = max(self.own_rows, self.own_rows // 4 + 4)
        loads = _LOAD_COST * (self.rows + self.columns)
        return self.depth * (self.threads * self.own_columns * busy + loads) + _STEP_COST


def core_contraction(nest: Structured) -> CoreContraction | None:
    """The operation as a contraction; None for another, or where rows are not contiguous."""
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
    """The tile with which a GPU of `sms` multiprocessors is busy for the shortest time.

    None where there is too little to do for a tile to pay. Tiles that do not divide the result
    count whole.
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
