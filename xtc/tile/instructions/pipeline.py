# SPDX-License-Identifier: Apache-2.0
"""A ring of buffer slots between producer and consumer threads, as in Tilus 0.2."""

from __future__ import annotations

from typing import Any

from xtc.tile.classes import Class
from xtc.tile.types import int32, uint32


class Pipeline(Class):
    """A ring of buffer slots; each has an mbarrier for "empty" and one for "full".

    `producer_stage` and `consumer_stage` are the current slots. Producers that have filled a slot
    arrive at `producer_release_barrier()`, consumers that have read it at
    `consumer_release_barrier()`. With `debug`, each wait is printed with its first thread.
    """

    def __init__(
        self,
        num_stages: int,
        producer_arrive_count: int = 1,
        consumer_arrive_count: int = 1,
        debug: bool = False,
    ) -> None:
        self.num_stages: int = num_stages
        self.debug: bool = debug
        self.empty_barriers: Any = self.mbarrier.alloc([consumer_arrive_count] * num_stages)
        self.full_barriers: Any = self.mbarrier.alloc([producer_arrive_count] * num_stages)
        self.producer_stage: int32 = 0  # type: ignore[valid-type]
        self.consumer_stage: int32 = 0  # type: ignore[valid-type]
        self.producer_phase: uint32 = self.mbarrier.producer_initial_phase  # type: ignore[valid-type]
        self.consumer_phase: uint32 = self.mbarrier.consumer_initial_phase  # type: ignore[valid-type]

    def producer_acquire(self) -> None:
        """Wait until the producers' current slot is empty."""
        self._told("producer waits for slot", self.producer_stage)
        self.mbarrier.wait(self.empty_barriers[self.producer_stage], self.producer_phase)
        self._told("producer has slot", self.producer_stage)

    def producer_advance(self) -> None:
        """Advance to the producers' next slot."""
        self.producer_stage = (self.producer_stage + 1) % self.num_stages
        self.producer_phase = self.producer_phase ^ (self.producer_stage == 0)

    def producer_release_barrier(self) -> Any:
        """The barrier at which producers, and the bytes of their copies, arrive."""
        return self.full_barriers[self.producer_stage]

    def consumer_acquire(self) -> None:
        """Wait until the consumers' current slot is full."""
        self._told("consumer waits for slot", self.consumer_stage)
        self.mbarrier.wait(self.full_barriers[self.consumer_stage], self.consumer_phase)
        self._told("consumer has slot", self.consumer_stage)

    def consumer_advance(self) -> None:
        """Advance to the consumers' next slot."""
        self.consumer_stage = (self.consumer_stage + 1) % self.num_stages
        self.consumer_phase = self.consumer_phase ^ (self.consumer_stage == 0)

    def consumer_release_barrier(self) -> Any:
        """The barrier at which consumers arrive."""
        return self.empty_barriers[self.consumer_stage]

    def _told(self, what: str, slot: Any) -> None:
        if self.debug:
            self.printf("thread %d: %s %d\n", self.current_thread_begin, what, slot)
