# SPDX-License-Identifier: Apache-2.0
"""Peaks, disturbances and counter overhead: the references of a measurement."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import xtc
import xtc.ops as O
from xtc.codegen.llvm import Machine
from xtc.core import discover
from xtc.evaluate import measure
from xtc.evaluate import measure as measure_function
from xtc.evaluate.measure import count_calls
from xtc.evaluate.timing import Timing
from xtc.system.cores import usable_cores
from xtc_targets.host import best_peaks, peak
from xtc_targets.host.device import LocalHost

SHORT = 0.002


@pytest.fixture
def rates(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[float]:
    """The next measured peaks, in a new process on a new machine."""
    given: list[float] = []
    monkeypatch.setenv("XTC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(peak, "_known", {})
    monkeypatch.setattr(peak, "_shapes", lambda name: {128: None})
    monkeypatch.setattr(peak, "_measured", lambda *_: given.pop(0))
    return given


def test_the_best_peak_so_far_is_used(rates: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    rates += [5e9, 4e9, 3e9, 7e9]
    assert peak.peak_flops("float32") == 5e9
    assert peak.peak_flops("float32", again=True) == 5e9
    monkeypatch.setattr(peak, "_known", {})
    assert peak.peak_flops("float32") == 5e9, "a later process knows it"
    assert peak.peak_flops("float32", again=True) == 7e9
    assert not rates


def test_other_threads_and_types_have_separate_peaks(rates: list[float]) -> None:
    rates += [5e9, 9e9, 2e9]
    assert peak.peak_flops("float32", 1) == 5e9
    assert peak.peak_flops("float32", 2) == 9e9
    assert peak.peak_flops("float64", 1) == 2e9


@pytest.mark.parametrize("content", [b"", b"[]", b'{"x": "y"}', b"\xff", b"[" * 100_000])
def test_a_damaged_record_is_ignored(rates: list[float], content: bytes, tmp_path: Path) -> None:
    rates += [5e9, 6e9]
    peak.peak_flops("float32")
    (tmp_path / "cache" / best_peaks.FILE).write_bytes(content)
    assert best_peaks.best_ever("x", 1.0) == 1.0


def test_a_cache_that_cannot_be_written_is_no_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XTC_CACHE_DIR", str(tmp_path / "file"))
    assert best_peaks.best_ever("x", 2.0) == 2.0


def test_without_threads_the_peak_is_that_of_all_cores() -> None:
    host = discover.target("host")
    with host.runtime(host.options()) as runtime:
        assert isinstance(runtime, LocalHost)
        assert runtime.threads == usable_cores()
    with host.runtime(host.options(threads=1)) as runtime:
        assert isinstance(runtime, LocalHost)
        assert runtime.threads == 1


def test_code_without_parallel_loops_has_the_peak_of_one_core(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []

    def peak_flops(dtype: str, threads: int, **_: object) -> float:
        asked.append(threads)
        return 1e12

    monkeypatch.setattr(peak, "peak_flops", peak_flops)
    x = O.tensor((8, 8), name="x")
    with O.graph(name="small") as gb:
        O.matmul(x, x)
    with xtc.compile(gb.graph, in_memory=True) as module:
        module.measure(repeat=1)
    assert asked == [1]


def test_a_rate_above_the_peak_triggers_another_measurement() -> None:
    asked: list[str] = []

    def of(name: str, rate: float) -> Callable[[], float]:
        def peak() -> float:
            asked.append(name)
            return rate

        return peak

    low = measure(lambda: None, flops=1e3, peak=of("first", 1.0), peak_again=of("again", 1e15))
    assert asked == ["first", "again"]
    assert low.fraction_of_peak is not None
    assert low.fraction_of_peak < 1
    measure(lambda: None, flops=1e3, peak=of("high", 1e15), peak_again=of("again", 1.0))
    assert asked == ["first", "again", "high"]


@pytest.mark.parametrize(
    ("features", "widths"),
    [
        ("+sse2,-avx,-avx512f", [128]),
        ("+sse2,+avx,+avx2,+fma,-avx512f", [256]),
        ("+sse2,+avx,+avx2,+fma,+avx512f", [512, 256]),
    ],
)
def test_wide_vectors_are_also_measured_as_halves(
    features: str, widths: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine("x86_64-unknown-linux-gnu", "", features)
    monkeypatch.setattr(Machine, "host", lambda: machine)
    shapes = peak._shapes("float32")
    assert list(shapes) == widths
    assert [32 * shape.width for shape in shapes.values()] == widths


@pytest.mark.parametrize(
    ("seconds", "taken", "disturbed"),
    [(1.0, 0, False), (1.0, 15, False), (1.0, 400, True), (1e-3, 1, False), (1e-3, 3, True)],
)
def test_disturbed_runs_are_marked(seconds: float, taken: int, disturbed: bool) -> None:
    timing = Timing((seconds / 2, seconds / 2), 1, taken)
    assert timing.is_disturbed == disturbed
    text = str(measure_function(lambda: None, repeat=1).__class__(timing))
    assert ("disturbed: other programs preempted this one" in text) == disturbed


class FakeCounters:
    """Counts 50,000 for each use, 30 for each call of what is not empty and 7 for the loop."""

    estimated = ()

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> FakeCounters:
        self.count = 50_000
        return self

    def __exit__(self, *_: object) -> None:
        self.count += 7

    def values(self) -> dict[str, int]:
        return {"task_clock": self.count}


@pytest.mark.parametrize("number", [1, 1000])
def test_the_overhead_of_counting_is_subtracted(number: int) -> None:
    counters = FakeCounters()

    def call() -> None:
        counters.count += 30

    assert count_calls(call, number, counters) == {"task_clock": 30.0}  # type: ignore[arg-type]


def test_the_first_count_runs_with_cold_caches() -> None:
    counters = FakeCounters()
    cold = iter([9000])

    def call() -> None:
        counters.count += 30 + next(cold, 0)

    assert count_calls(call, 1, counters) == {"task_clock": 30.0}  # type: ignore[arg-type]
