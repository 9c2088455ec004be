# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import gc

import pytest

from xtc.core.errors import UserError, XtcError
from xtc.evaluate.timing import Timing, time_calls


class FakeTime:
    """A clock that only the work advances: each call takes the next of the given durations."""

    def __init__(self, *durations: int) -> None:
        self.now = 1000
        self.calls = 0
        self._durations = durations

    def work(self) -> None:
        self.now += self._durations[min(self.calls, len(self._durations) - 1)]
        self.calls += 1

    def clock(self) -> int:
        return self.now


def test_samples_are_seconds_per_call_without_the_warm_up() -> None:
    time = FakeTime(900, 10, 20, 30, 50)
    timing = time_calls(time.work, repeat=2, number=2, clock=time.clock)
    assert timing.samples == pytest.approx((15e-9, 40e-9))
    assert timing.number == 2
    assert timing.repeat == 2
    assert time.calls == 1 + 2 * 2


def test_no_warm_up_times_the_first_call() -> None:
    time = FakeTime(900, 10)
    timing = time_calls(time.work, repeat=2, warmup=0, clock=time.clock)
    assert timing.samples == pytest.approx((900e-9, 10e-9))


def test_one_call_is_enough_without_a_minimum() -> None:
    time = FakeTime(5)
    timing = time_calls(time.work, repeat=3, clock=time.clock)
    assert timing.number == 1
    assert time.calls == 1 + 3


@pytest.mark.slow
@pytest.mark.parametrize("duration", [1, 7, 333, 10_000, 999_999, 1_000_000, 5_000_000])
def test_the_chosen_number_lasts_little_more_than_the_minimum(duration: int) -> None:
    time = FakeTime(duration)
    timing = time_calls(time.work, repeat=1, min_repeat_ms=1, clock=time.clock)
    length = timing.number * duration
    assert length >= 1_000_000
    assert timing.number == 1 or length <= 1_000_000 * 1.2 + duration


def test_a_stopped_clock_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xtc.evaluate.timing._MOST_CALLS", 1000)
    with pytest.raises(XtcError, match="1000 calls took 0 ns"):
        time_calls(lambda: None, min_repeat_ms=1, clock=lambda: 0)


def test_statistics() -> None:
    timing = Timing(tuple(float(x) for x in range(11)), number=3)
    assert timing.median == 5
    assert timing.best == 0
    assert timing.spread == (timing.p10, timing.p90) == (1, 9)


def test_text_has_units() -> None:
    text = str(Timing((1.2e-3, 1.234e-3, 1.4e-3), number=3))
    assert text == "median 1.234 ms (p10 1.207, p90 1.367, 3 x 3 calls)"
    assert str(Timing((2e-6,), number=1)) == "median 2 us (p10 2, p90 2, 1 x 1 call)"


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_collection_is_off_inside_and_restored(enabled: bool) -> None:
    seen: list[bool] = []
    was = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        time_calls(lambda: seen.append(gc.isenabled()), repeat=2)
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if was else gc.disable)()
    assert seen == [False] * 3


def test_garbage_collection_is_restored_after_an_error() -> None:
    def fails() -> None:
        raise RuntimeError("broken kernel")

    assert gc.isenabled()
    with pytest.raises(RuntimeError, match="broken kernel"):
        time_calls(fails)
    assert gc.isenabled()


def test_the_real_clock() -> None:
    timing = time_calls(lambda: None, repeat=3, min_repeat_ms=0.01)
    assert all(sample > 0 for sample in timing.samples)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"repeat": 0}, "repeat is 0"),
        ({"number": 0}, "number is 0"),
        ({"warmup": -1}, "warmup is -1"),
        ({"min_repeat_ms": -1}, "min_repeat_ms is -1"),
        ({"min_repeat_ms": float("nan")}, "min_repeat_ms is nan"),
        ({"number": 2, "min_repeat_ms": 1}, "both set the length of a repeat"),
    ],
)
def test_unusable_arguments(arguments: dict[str, int], text: str) -> None:
    calls: list[int] = []
    with pytest.raises(UserError, match=text):
        time_calls(lambda: calls.append(1), **arguments)  # type: ignore[arg-type]
    assert not calls
