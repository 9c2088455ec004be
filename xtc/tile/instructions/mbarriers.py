# SPDX-License-Identifier: Apache-2.0
"""The instruction groups `mbarrier` and `fence`: synchronization within a block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xtc.core.errors import UserError
from xtc.ir.builders import tile
from xtc.ir.mlir import MemRefType, Type, Value
from xtc.tile.instructions.block_clusters import cluster_size, mask_of, mask_of_rank
from xtc.tile.instructions.memory import space
from xtc.tile.types import int32
from xtc.tile.values.arithmetic import cast, data
from xtc.tile.values.barrier_values import Barrier, Barriers, barrier_of
from xtc.tile.values.idioms import not_in_group
from xtc.tile.values.runtime import Data

SHARED = 2
_MOST_ARRIVALS = (1 << 20) - 1


class MBarrier:
    """Barriers in shared memory that count arrivals of threads and bytes of bulk copies.

    A phase completes when the number of arrivals given to `alloc` and all announced bytes have
    come; then the next phase begins. Phases have the parities 0, 1, 0, ...
    """

    producer_initial_phase = 1
    consumer_initial_phase = 0

    def alloc(
        self,
        counts: int | Sequence[int] | None = None,
        *,
        count: int | Sequence[int] | None = None,
    ) -> Barrier | Barriers:
        """Allocate barriers with these numbers of arrivals, for all threads of the block.

        A number instead of a list allocates one barrier; the default is the number of active
        threads. `count` is another name of `counts`.
        """
        count = counts if count is None else count
        if tile.current_group() is not None:
            raise UserError(
                "mbarrier.alloc in a thread group",
                hints=["allocate barriers before the group, with all threads of the block"],
            )
        numbers: list[Any] = list(count) if isinstance(count, list | tuple) else [count]
        for number in numbers:
            _require_count(number)
        if not numbers:
            raise UserError("mbarrier.alloc of no barriers")
        type = MemRefType.get([len(numbers)], Type.parse("i64"), None, space(SHARED))
        made = tile.mbarrier_alloc([number or 0 for number in numbers], type)
        return Barriers(made, len(numbers)) if isinstance(count, list | tuple) else Barrier(made, 0)

    def arrive(
        self, barrier: Barrier, count: Any = 1, sem: str = "release", scope: str = "cta"
    ) -> None:
        """Each active thread arrives `count` times.

        Its earlier accesses are visible to the threads that wait.
        """
        _require_order(sem, scope, "arrive", "release")
        found = barrier_of(barrier, "mbarrier.arrive")
        if found.rank is not None:
            mask = mask_of_rank(found.rank, "mbarrier.arrive")
            nothing = _number(0, "arrive")
            tile.cluster_arrive(found.operands, mask, _number(count, "arrive"), nothing)
            return
        tile.mbarrier_arrive(*found.operands, _number(count, "arrive"))

    def arrive_and_expect_tx(
        self, barrier: Barrier, transaction_bytes: Any, sem: str = "release", scope: str = "cta"
    ) -> None:
        """Each active thread arrives and announces the bytes of bulk copies."""
        _require_order(sem, scope, "arrive_and_expect_tx", "release")
        nbytes = _number(transaction_bytes, "arrive_and_expect_tx")
        tile.mbarrier_expect(*_barrier(barrier, "arrive_and_expect_tx"), nbytes)

    def arrive_and_expect_tx_multicast(
        self,
        barrier: Barrier,
        transaction_bytes: Any,
        multicast_mask: Any,
        sem: str = "release",
        scope: str = "cluster",
    ) -> None:
        """One active thread arrives at this barrier of each block of the cluster in the mask.

        It announces the bytes of bulk copies to each of them.
        """
        name = "arrive_and_expect_tx_multicast"
        _require_order(sem, scope, name, "release")
        mask = mask_of(multicast_mask, f"mbarrier.{name}")
        operands, nbytes = _barrier(barrier, name), _number(transaction_bytes, name)
        with tile.elected():
            tile.cluster_arrive(operands, mask, _number(1, name), nbytes)

    def arrive_and_expect_tx_remote(
        self,
        barrier: Barrier,
        transaction_bytes: Any,
        target_rank: Any,
        sem: str = "release",
        scope: str = "cluster",
    ) -> None:
        """Each active thread arrives, and announces bytes, at this barrier of another block."""
        name = "arrive_and_expect_tx_remote"
        _require_order(sem, scope, name, "release")
        mask = mask_of_rank(target_rank, f"mbarrier.{name}")
        nbytes = _number(transaction_bytes, name)
        tile.cluster_arrive(_barrier(barrier, name), mask, _number(1, name), nbytes)

    def wait(self, barrier: Barrier, phase: Any, sem: str = "acquire", scope: str = "cta") -> None:
        """Wait until the phase of this parity is complete.

        The phase before the first has parity 1. "relaxed" waits acquire as well, and those of
        "cta" what other blocks of the cluster have written.
        """
        if sem not in ("relaxed", "acquire"):
            raise UserError(f"mbarrier.wait: sem={sem!r}", hints=["'acquire' or 'relaxed'"])
        _require_order("release", scope, "wait", "release")
        in_cluster = cluster_size() > 1
        number = _number(phase, "wait")
        tile.mbarrier_wait(*_barrier(barrier, "wait"), number, in_cluster=in_cluster)

    def __getattr__(self, name: str) -> Any:
        raise not_in_group("mbarrier", name, dir(self))


class Fence:
    """Memory fences between threads and bulk copies or warpgroup multiplications."""

    def proxy_async(self, space: str = "shared") -> None:
        """Make writes that the calling threads did or have seen visible to bulk copies and wgmma.

        Call it before the `sync` or arrival that precedes the access, or in the thread that issues
        the access after it.
        """
        if space not in ("shared", "global"):
            raise UserError(f"fence.proxy_async: space={space!r}", hints=["'shared' or 'global'"])
        tile.fence_proxy(space)

    def proxy_async_release(self) -> None:
        """The same for shared memory."""
        tile.fence_proxy("shared")

    def __getattr__(self, name: str) -> Any:
        raise not_in_group("fence", name, dir(self))


def _require_count(number: Any) -> None:
    if number is None:
        return
    if isinstance(number, bool) or not isinstance(number, int):
        raise UserError(f"mbarrier.alloc takes constant numbers of arrivals, not {number!r}")
    if not 1 <= number <= _MOST_ARRIVALS:
        raise UserError(f"mbarrier.alloc: {number} arrivals", notes=[f"1 to {_MOST_ARRIVALS}"])


def _require_order(sem: str, scope: str, name: str, strong: str) -> None:
    """Raise UserError for an unknown order; all are implemented as strong, with cluster scope."""
    if sem not in ("relaxed", strong):
        raise UserError(f"mbarrier.{name}: sem={sem!r}", hints=[f"'{strong}' or 'relaxed'"])
    if scope not in ("cta", "cluster"):
        raise UserError(f"mbarrier.{name}: scope={scope!r}", hints=["'cta' or 'cluster'"])


def _barrier(value: Any, name: str) -> tuple[Value, Value]:
    found = barrier_of(value, f"mbarrier.{name}")
    if found.rank is not None:
        raise UserError(
            f"mbarrier.{name} of another block's barrier",
            hints=["threads arrive there, by mbarrier.arrive and arrive_and_expect_tx_remote"],
        )
    return found.operands


def _number(value: Any, name: str) -> Value:
    if not isinstance(value, int | Data):
        raise UserError(f"mbarrier.{name} takes a number, not {value!r}")
    found = data(value, int32)
    if found.shape == (1,):
        found = found.item()  # type: ignore[attr-defined]
    if found.shape or found.dtype.kind not in ("int", "bool"):
        raise UserError(f"mbarrier.{name} takes an integer, not {found!r}")
    return cast(found, int32).value
