# SPDX-License-Identifier: Apache-2.0
"""The instruction group `tma`: asynchronous copies of tiles, started by one thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xtc.core.errors import UserError
from xtc.ir.builders import tile
from xtc.tile.instructions.block_clusters import mask_of
from xtc.tile.instructions.memory import require_live
from xtc.tile.instructions.moves import located
from xtc.tile.values.barrier_values import barrier_of
from xtc.tile.values.idioms import not_in_group
from xtc.tile.values.runtime import GlobalTensor, Memory, SharedTensor


class Tma:
    """Bulk copies between global and shared memory.

    One of the active threads issues each copy, always the same one for a thread group, and can
    wait for it in the same group.
    """

    def global_to_shared(
        self,
        *,
        src: GlobalTensor,
        dst: SharedTensor,
        offsets: Sequence[Any],
        dims: Sequence[int] | None = None,
        mbarrier: Any,
        cta_group: int = 1,
        multicast_mask: Any = None,
        cache_policy: Any = None,
    ) -> None:
        """Start a copy that fills a shared tensor, with 0 outside of the global tensor.

        Threads that wait for the phase of `mbarrier` which announces its bytes see the data. With
        `multicast_mask` the copy fills the tensor of each block of the cluster in the mask, and
        its bytes arrive at the barrier of each.
        """
        name = "tma.global_to_shared"
        _refuse(name, cache_policy=cache_policy)
        if cta_group != 1:
            raise UserError(
                f"{name}: cta_group={cta_group!r} is not supported; it needs sm_100",
                hints=["omit cta_group="],
            )
        source, target = _pair(src, dst, name)
        values, along = located(source, offsets, dims, len(target.shape), name)
        _require_rows(source, along, name)
        found = barrier_of(mbarrier, name)
        if found.rank is not None:
            raise UserError(
                f"{name} takes a barrier of the same block",
                hints=["pass a barrier of mbarrier.alloc, and multicast_mask= for other blocks"],
            )
        if multicast_mask is None:
            with tile.elected():
                tile.tma_load(source.value, target.value, found.operands, values, along)
            return
        mask, barrier = mask_of(multicast_mask, name), found.operands
        with tile.elected():
            tile.tma_multicast(source.value, target.value, barrier, mask, values, along)

    def shared_to_global(
        self,
        src: SharedTensor,
        dst: GlobalTensor,
        offsets: Sequence[Any],
        dims: Sequence[int] | None = None,
        cache_policy: Any = None,
    ) -> None:
        """Start a copy to global memory; elements outside of the tensor are dropped.

        `commit_group` and `wait_group` complete it. `fence.proxy_async` must separate it from the
        threads' stores.
        """
        name = "tma.shared_to_global"
        _refuse(name, cache_policy=cache_policy)
        target, source = _pair(dst, src, name)
        values, along = located(target, offsets, dims, len(source.shape), name)
        _require_rows(target, along, name)
        with tile.elected():
            tile.tma_store(source.value, target.value, values, along)

    def commit_group(self) -> None:
        """Commit the `shared_to_global` copies started since the last commit as a group."""
        with tile.elected():
            tile.tma_commit()

    def wait_group(self, n: int, read: bool = False) -> None:
        """Wait until at most the last `n` groups are in flight.

        With `read`, wait only until the other groups have read shared memory.
        """
        if isinstance(n, bool) or not isinstance(n, int) or n < 0:
            raise UserError(
                f"tma.wait_group takes a constant number of groups, not {n!r}",
                hints=["write the number, or unroll the loop: self.range(n, unroll='all')"],
            )
        with tile.elected():
            tile.tma_wait(n, bool(read))

    def __getattr__(self, name: str) -> Any:
        raise not_in_group("tma", name, dir(self))


def _refuse(name: str, **given: Any) -> None:
    for key, value in given.items():
        if value is not None:
            raise UserError(f"{name}: {key}= is not supported", hints=[f"omit {key}="])


def _pair(in_global: Any, in_shared: Any, name: str) -> tuple[GlobalTensor, SharedTensor]:
    for value, kind in ((in_global, GlobalTensor), (in_shared, SharedTensor)):
        if not isinstance(value, kind):
            raise UserError(
                f"{name} takes a {kind.where} tensor, not {value!r}",
                hints=["src= is read, dst= is written"],
            )
    require_live(in_shared, name)
    if in_global.dtype != in_shared.dtype:
        raise UserError(
            f"{name} between {in_global!r} and {in_shared!r}: types differ",
            hints=["a bulk copy converts nothing: choose a shared tensor of the same type"],
        )
    if in_global.dtype.is_packed:
        raise UserError(
            f"{name}: elements of {in_global.dtype} share bytes",
            hints=["use elements of 8 bits or more"],
        )
    return in_global, in_shared


def _require_rows(tensor: Memory, along: Sequence[int], name: str) -> None:
    """Raise UserError unless the tile's rows run along contiguous rows of the tensor."""
    assert isinstance(tensor, GlobalTensor)  # noqa: S101
    last = len(tensor.strides) - 1
    if not isinstance(tensor.strides[last], int) or tensor.strides[last] != 1:
        raise UserError(
            f"{name}: the rows of {tensor!r} are not contiguous",
            hints=["its last stride must be 1"],
        )
    if list(along) != sorted(along) or along[-1] != last:
        raise UserError(
            f"{name}: the tile runs along dimensions {list(along)} of {tensor!r}",
            notes=["they must be in order, and the last one must be the last of the tensor"],
            hints=[
                "permute the tensor's sizes and strides in global_view, or load and store the tile"
            ],
        )
