# SPDX-License-Identifier: Apache-2.0
"""The instruction group `cluster`: blocks that run together and access each other's barriers."""

from __future__ import annotations

from math import prod
from typing import Any

from xtc.core.errors import UserError
from xtc.ir.builders import tile
from xtc.tile.types import int32
from xtc.tile.values.arithmetic import binary, cast, data
from xtc.tile.values.barrier_values import Barrier, Barriers, barrier_of
from xtc.tile.values.idioms import not_in_group
from xtc.tile.values.runtime import Data, Scalar

MOST_BLOCKS = 8
"""Blocks of a cluster that every GPU with clusters supports ("CUDA C++ Programming Guide")."""


def cluster_sizes(value: Any) -> tuple[int, int, int]:
    """The blocks of a cluster in x, y and z. Raises UserError for invalid sizes."""
    given = tuple(value) if isinstance(value, list | tuple) else (value,)
    if not 1 <= len(given) <= 3:
        raise UserError(
            f"attrs.cluster_blocks has 1 to 3 sizes, not {len(given)}",
            hints=["self.attrs.cluster_blocks = 2, or (2, 1, 1)"],
        )
    for size in given:
        if isinstance(size, bool | Data) or not isinstance(size, int) or size < 1:
            raise UserError(
                f"attrs.cluster_blocks: {size!r} is not a constant number of blocks",
                hints=["self.attrs.cluster_blocks = 2, or (2, 1, 1)"],
            )
    if prod(given) > MOST_BLOCKS:
        raise UserError(
            f"attrs.cluster_blocks: {prod(given)} blocks", notes=[f"1 to {MOST_BLOCKS} in all"]
        )
    x, y, z = (*given, 1, 1)[:3]
    return x, y, z


def cluster_size() -> int:
    """The number of blocks per cluster of the kernel that is being transcribed."""
    return prod(tile.cluster_of(tile.current_kernel()))


def i32_of(value: Any, name: str) -> Any:
    """A constant or run-time number as an i32 value. Raises UserError for anything else."""
    if not isinstance(value, int | Scalar):
        raise UserError(
            f"{name} takes a number, not {value!r}",
            hints=["the rank of a block: self.cluster.blockRank"],
        )
    return cast(data(value, int32), int32).value


def mask_of(ranks: Any, name: str) -> Any:
    """A set of ranks as an i32 bit mask. Raises UserError for ranks that do not exist."""
    if isinstance(ranks, int) and not 0 < ranks < 1 << cluster_size():
        raise UserError(
            f"{name}: the mask {ranks:#b} in a cluster of {cluster_size()} blocks",
            hints=["self.attrs.cluster_blocks sets the number of blocks per cluster"],
        )
    return i32_of(ranks, name)


def mask_of_rank(rank: Any, name: str) -> Any:
    """The set of one rank."""
    if isinstance(rank, int):
        if not 0 <= rank < cluster_size():
            raise UserError(
                f"{name}: block {rank} of a cluster of {cluster_size()}",
                hints=["ranks are numbered from 0"],
            )
        return i32_of(1 << rank, name)
    return i32_of(binary("lshift", 1, cast(rank, int32)), name)


class _Position:
    """A number for each of x, y and z."""

    def __init__(self, x: Any, y: Any, z: Any) -> None:
        self.x, self.y, self.z = x, y, z

    def __iter__(self) -> Any:
        return iter((self.x, self.y, self.z))


class Cluster:
    """The blocks of a cluster, whose numbers in x, y and z are `attrs.cluster_blocks`."""

    def sync(self) -> None:
        """Barrier of all threads of the cluster; each then sees what the others have written.

        Call it before the first access to another block's barriers or shared memory, and before a
        block ends whose memory others use.
        """
        if tile.current_group() is not None:
            raise UserError(
                "cluster.sync in a thread group", hints=["all threads of the block must reach it"]
            )
        tile.cluster_sync()

    @property
    def blockIdx(self) -> _Position:  # noqa: N802
        """The index of this block in its cluster."""
        sizes = tile.cluster_of(tile.current_kernel())
        found = [
            binary("mod", Scalar(tile.block_id(dim), int32), size) if size > 1 else 0
            for dim, size in enumerate(sizes)
        ]
        return _Position(*found)

    @property
    def clusterDim(self) -> _Position:  # noqa: N802
        """The number of blocks in the cluster."""
        return _Position(*tile.cluster_of(tile.current_kernel()))

    @property
    def blockRank(self) -> Any:  # noqa: N802
        """The linear index of this block in its cluster, x fastest."""
        x, y, z = self.blockIdx
        sizes = tile.cluster_of(tile.current_kernel())
        return x + sizes[0] * (y + sizes[1] * z)

    def map_shared_addr(self, addr: Any, target_rank: Any) -> Any:
        """The barrier, or barriers, of another block at the same address, for arrivals."""
        if isinstance(addr, Barriers):
            mask_of_rank(target_rank, "cluster.map_shared_addr")
            return Barriers(addr.memory, addr.count, target_rank)
        found = barrier_of(addr, "cluster.map_shared_addr")
        mask_of_rank(target_rank, "cluster.map_shared_addr")
        return Barrier(found.memory, found.index, target_rank)

    def __getattr__(self, name: str) -> Any:
        raise not_in_group("cluster", name, dir(self))
