# SPDX-License-Identifier: Apache-2.0
"""Pairs of blocks that load the tiles of one operand together, by multicast."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from xtc.ir.builders.numbers import Number, compare, known, remainder
from xtc.ir.mlir import BlockArgument, Operation, Value, all_operations
from xtc_targets.nvgpu.passes._pipelines.dot_loops import DotLoop, Operand

BLOCKS = 2
_ATOM_ROWS = 8
"""Rows of a swizzle pattern, which halves of a tile do not divide."""
_READ = ("arith.", "tile.block_id", "tile.grid_dim", "tile.assume", "memref.dim")
"""Operations that give both blocks of a pair the same numbers, except for the block's position."""


@dataclass(frozen=True)
class BlockPair:
    """A cluster of two blocks whose tiles are adjacent in one dimension of the grid. They use the
    same tiles of an operand, and each loads a half of them for both.

    Attributes:
        operand: index of the operand.
        dim: the dimension of the grid; the pair is together if its size is even.
    """

    operand: int
    dim: int

    def together(self, grid: Sequence[Number]) -> Value | bool:
        """Whether the blocks of a cluster are such pairs."""
        size = known(grid[self.dim])
        if isinstance(size, int):
            return size % BLOCKS == 0
        return compare("eq", remainder(size, BLOCKS), 0)


def block_pair(
    matched: DotLoop,
    grid: Sequence[Number],
    asked: Mapping[tuple[str, int], Operation],
    sms: int,
    *,
    surely: bool,
) -> BlockPair | None:
    """The pair that saves the most bytes; None if blocks share no operand, or if the tiles leave
    most multiprocessors idle, as small contractions do. With `surely`, all launches have pairs."""
    sizes = [known(size) for size in grid]
    tiles = 1
    for size in sizes:
        tiles *= size if isinstance(size, int) else sms  # a size of a launch may be large
    if BLOCKS * tiles < sms or sms < BLOCKS:
        return None
    found = []
    for number, operand in enumerate((matched.a, matched.b)):
        position = position_of(matched, operand, asked)
        rows, columns = operand.deeper(matched.merged)
        if position is None or rows % (BLOCKS * _ATOM_ROWS):
            continue
        nbytes = rows * columns * operand.nbytes
        for dim in (0, 1):
            size = sizes[dim]
            is_even = not surely if not isinstance(size, int) else size % BLOCKS == 0
            if dim not in position and is_even:
                found.append((nbytes, -dim, BlockPair(number, dim)))
    return max(found, key=lambda each: each[:2])[2] if found else None


def position_of(
    matched: DotLoop, operand: Operand, asked: Mapping[tuple[str, int], Operation]
) -> Collection[int] | None:
    """The dimensions of a block's position that the tiles of an operand, or the loop's trip count,
    depend on; None if they depend on more than numbers."""
    dims = {op: dim for (name, dim), op in asked.items() if name == "tile.block_id"}
    left = [matched.forms.values[key] for form in operand.offsets for key, _ in form.terms]
    left += list(matched.loop.operands)[:3]
    found: set[int] = set()
    seen: set[Value] = set()
    while left:
        value = left.pop()
        if isinstance(value, BlockArgument) or value in seen:
            continue
        seen.add(value)
        op = value.owner.operation
        if op in dims:
            found.add(dims[op])
        elif any(not inner.name.startswith(_READ) for inner in all_operations(op)):
            return None
        left += op.operands
    return found
