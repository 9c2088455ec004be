# SPDX-License-Identifier: Apache-2.0
"""Calls that each record some of their kernels are combined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xtc.driver.recorded_calls import RecordedCall, windows
from xtc.interfaces.runtime import Piece, RecordedKernel


@pytest.mark.parametrize(
    ("kernels", "seconds", "first", "count"),
    [
        (75, 3e-3, (0, 75), 1),  # 76 clock reads are 0.05 % of 3 ms
        (96, 18e-6, (0, 8), 12),
        (24, 1e-6, (0, 1), 24),
        (1, 0.0, (0, 1), 1),
    ],
)
def test_clock_reads_take_at_most_a_hundredth_of_a_call(
    kernels: int, seconds: float, first: tuple[int, int], count: int
) -> None:
    chosen = windows(kernels, seconds)
    assert (chosen[0], len(chosen)) == (first, count)


@given(st.integers(1, 500), st.floats(0, 1e-2))
def test_windows_follow_each_other_and_cover_all_kernels(kernels: int, seconds: float) -> None:
    chosen = windows(kernels, seconds)
    assert chosen[0][0] == 0
    assert all(first + count == second for (first, count), (second, _) in pairwise(chosen))
    assert sum(chosen[-1]) == kernels
    assert max(count for _, count in chosen) - min(count for _, count in chosen) <= 1


class _Recorder:
    """Kernel `i` takes `10 * (i + 1)` ns and has a piece; call `n` starts at 1,000,000 n."""

    threads, vector_bits = 2, 128
    kernels = tuple(RecordedKernel(name, name) for name in "abc")

    def __init__(self) -> None:
        self.calls, self.window = 0, (0, 3)

    def record_only(self, first: int, count: int) -> None:
        self.window = (first, count)

    def _times(self) -> list[int]:
        return [self.calls * 1_000_000 + offset for offset in (0, 10, 30, 60)]

    def stamps(self) -> list[int]:
        first, count = self.window
        return self._times()[first : first + count + 1]

    def pieces(self, call: Callable[[], None]) -> Sequence[Piece]:
        self.calls += 1
        call()
        return [Piece(1, begin + 2, begin + 5) for begin in self._times()[:3]]


@pytest.mark.parametrize("chosen", [[(0, 3)], [(0, 1), (1, 2)], [(0, 1), (1, 1), (2, 1)]])
def test_calls_with_some_kernels_each_are_combined(chosen: list[tuple[int, int]]) -> None:
    recorder, order = _Recorder(), []
    found = RecordedCall.of(
        recorder, lambda: order.append("recorded"), lambda: order.append("plain"), chosen, 0
    )
    assert found.stamps == [1_000_000, 1_000_010, 1_000_030, 1_000_060]
    assert found.pieces == [Piece(1, b + 2, b + 5) for b in found.stamps[:3]]
    turns = ["recorded", *["plain"] * 3, *["recorded"] * 3, *["plain"] * 2]
    assert order == turns[: 3 * len(chosen)]
    assert found.seconds > 0 < found.plain_seconds
