# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import importlib
import json
from typing import Any

import pytest

from xtc.core.errors import UserError, XtcError
from xtc.evaluate.counters import CountersUnavailable, available_counters
from xtc.evaluate.measure import Measurement, measure
from xtc.evaluate.timing import Timing
from xtc.evaluate.units import number_text, seconds_text

# The package exports the function under the module's name.
measure_module = importlib.import_module("xtc.evaluate.measure")
MILLISECOND = Timing((1.0e-3, 1.0e-3, 1.0e-3), number=2)


@pytest.fixture
def a_millisecond(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure_module, "time_calls", lambda call, **_: MILLISECOND)


class FakeCounters:
    """Counts calls of the work: 10 for each, of every name."""

    calls = 0
    estimated = ("cycles",)

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def __enter__(self) -> FakeCounters:
        FakeCounters.calls = 0
        return self

    def __exit__(self, *_: object) -> None:
        self.final = FakeCounters.calls

    def values(self) -> dict[str, int]:
        return dict.fromkeys(self.names, 10 * self.final)


def work() -> None:
    FakeCounters.calls += 1


def touch_memory() -> None:
    bytearray(1 << 22)


def test_time_is_measured() -> None:
    calls: list[int] = []
    result = measure(lambda: calls.append(1), repeat=3, number=2, warmup=1)
    assert len(calls) == 1 + 3 * 2
    assert result.timing.median > 0
    assert result.gflops is None
    assert result.gbytes_per_s is None
    assert result.fraction_of_peak is None
    assert str(result).splitlines()[0] == str(result.timing)


@pytest.mark.usefixtures("a_millisecond")
def test_rates() -> None:
    result = measure(work, flops=2e9, bytes_moved=3e6, dtype="float32", peak=lambda: 4e12)
    assert result.gflops == pytest.approx(2000)
    assert result.gbytes_per_s == pytest.approx(3)
    assert result.fraction_of_peak == pytest.approx(0.5)


@pytest.mark.usefixtures("a_millisecond")
def test_a_full_measurement_prints_every_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure_module, "Counters", FakeCounters)
    result = measure(
        work,
        flops=217.3e6,
        dtype="float32",
        peak=lambda: 238.8e9,
        counters=["cycles", "instructions"],
        modelled={"cycles": 12345, "energy (J)": 0.25},
    )
    assert str(result).splitlines() == [
        "median 1 ms (p10 1, p90 1, 3 x 2 calls) · 217.3 GFLOP/s"
        " · 0.91 of the measured float32 FMA peak",
        "  cycles 10 per call (estimated: counted part of the time)",
        "  instructions 10 per call",
        "  modelled cycles 12,345",
        "  modelled energy (J) 0.25",
    ]


@pytest.mark.usefixtures("a_millisecond")
def test_an_unknown_element_type_is_not_printed() -> None:
    assert "of the measured FMA peak" in str(measure(work, flops=1.0, peak=lambda: 1e3))


@pytest.mark.usefixtures("a_millisecond")
def test_an_unknown_peak_gives_no_fraction() -> None:
    assert measure(work, flops=1.0, peak=lambda: 0.0).fraction_of_peak is None


def test_a_modelled_peak_is_labeled() -> None:
    result = measure(work, flops=1.0, dtype="float16", peak=lambda: 1e3, modelled_peak=True)
    assert "of the modelled float16 FMA peak" in str(result)
    assert "measured" not in str(result)
    assert result.as_dict()["modelled_peak"] is True


@pytest.mark.usefixtures("a_millisecond")
def test_a_small_fraction_is_not_rounded_to_zero() -> None:
    text = str(measure(work, flops=4.5e2, peak=lambda: 1e9))
    assert "0.00045 of the measured FMA peak" in text


def test_counters_of_time_have_a_unit() -> None:
    result = Measurement(MILLISECOND, counters={"task_clock": 1500.0, "page_faults": 2.5})
    assert str(result).splitlines()[1:] == [
        "  task_clock 1,500 ns per call",
        "  page_faults 2.5 per call",
    ]


def test_every_modelled_line_is_labeled() -> None:
    result = Measurement(MILLISECOND, modelled={"cycles": 7.0, "dma_bytes": 8.0})
    lines = str(result).splitlines()[1:]
    assert len(lines) == 2
    assert all("modelled" in line for line in lines)


def test_counters_are_available_or_have_a_reason() -> None:
    name = "page_faults"
    reason = available_counters()[name]
    if reason is None:
        result = measure(touch_memory, repeat=2, number=3, counters=[name])
        assert result.counters[name] >= 0
    else:
        with pytest.raises(CountersUnavailable, match=name):
            measure(work, counters=[name])


def test_a_misspelled_counter_is_detected_before_the_work() -> None:
    calls: list[int] = []
    with pytest.raises(UserError, match="unknown counter"):
        measure(lambda: calls.append(1), counters=["cycels"])
    assert not calls


def test_dictionary_survives_json() -> None:
    result = Measurement(
        Timing((1.0, 2.0, 3.0), number=4),
        dtype="float32",
        gflops=5.0,
        counters={"cycles": 6.0},
        modelled={"cycles": 7.0},
    )
    found: dict[str, Any] = json.loads(json.dumps(result.as_dict()))
    assert found["seconds"]["samples"] == [1.0, 2.0, 3.0]
    assert found["seconds"]["median"] == 2.0
    assert (found["repeat"], found["number"], found["gflops"]) == (3, 4, 5.0)
    assert found["counters"] == {"cycles": 6.0}
    assert found["modelled"] == {"cycles": 7.0}
    assert found["fraction_of_peak"] is None


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"flops": -1.0}, "flops is -1"),
        ({"bytes_moved": float("nan")}, "bytes_moved is nan"),
        ({"peak": lambda: 1.0}, "a peak is given without flops"),
        ({"repeat": 0}, "repeat is 0"),
    ],
)
def test_unusable_arguments(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(UserError, match=text):
        measure(work, **arguments)


def test_too_short_for_a_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure_module, "time_calls", lambda call, **_: Timing((0.0,), 1))
    with pytest.raises(XtcError, match="less time than the clock can resolve"):
        measure(work, flops=1.0)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1234567.0, "1,234,567"),
        (1234.56, "1,234.6"),
        (0.0125, "0.0125"),
        (2.0**60, f"{2.0**60:,.1f}"),
    ],
)
def test_numbers(value: float, text: str) -> None:
    assert number_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.5, "1.5 s"), (1.2344e-3, "1.234 ms"), (2e-5, "20 us"), (3e-10, "0.3 ns"), (0.0, "0 ns")],
)
def test_times(value: float, text: str) -> None:
    assert seconds_text(value) == text
