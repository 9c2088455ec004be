# SPDX-License-Identifier: Apache-2.0
"""Profiles of calls by operator."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import xtc
import xtc.ops as O
from benchmarks.networks import NETWORKS
from xtc.core.errors import UserError
from xtc.driver.operator_times import fused_nodes
from xtc.evaluate.call_times import median_ratio, middle_half, require_calls
from xtc.evaluate.profile import (
    Copies,
    DeviceProfile,
    OperatorTime,
    Profile,
    Span,
    spans_of,
)
from xtc.interfaces.runtime import Piece, RecordedKernel, RecordedKernels
from xtc_targets.host.device import LocalHost
from xtc_targets.host.options import HostOptions


@pytest.mark.slow
def test_a_profile_has_every_operator_and_changes_no_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(LocalHost, "peaks_by_width", lambda self, dtype: {256: 1e11})
    monkeypatch.setattr(LocalHost, "memory_bandwidth", lambda self: 1e10)
    graph = NETWORKS["vit_s"](True)
    image = np.random.default_rng(0).random((1, 32, 32, 3), np.float32)
    with xtc.compile(graph, threads=1) as module:
        before = module(image)
        found = module.profile(image, repeat=3)
        assert np.array_equal(module(image), before)
    with xtc.compile(graph, threads=1, profile=True) as recorder:
        assert np.array_equal(recorder(image), before)
    assert sum(operator.flops for operator in found.operators) == graph.flops
    assert len([n for operator in found.operators for n in operator.computes]) == len(graph.nodes)
    assert {span.name for span in found.spans} == {operator.name for operator in found.operators}
    assert all(first.end == second.begin for first, second in itertools.pairwise(found.spans))
    # The profile of a short call combines several calls, one of which may have been interrupted.
    assert found.spans[-1].end == sum(span.end - span.begin for span in found.spans) > 0
    assert found.seconds > 0
    kernels = [operator.kernels for operator in found.operators]
    assert len(set(kernels)) < len(kernels)  # equal layers run equal functions


@pytest.mark.slow
@pytest.mark.parametrize("cache", [True, False])
def test_the_instrumented_program_is_cached_only_if_the_program_is(
    cache: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XTC_CACHE", "1")
    monkeypatch.setenv("XTC_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(LocalHost, "peaks_by_width", lambda self, dtype: {256: 1e11})
    monkeypatch.setattr(LocalHost, "memory_bandwidth", lambda self: 1e10)
    x = O.tensor((8, 8), name="x")
    with O.graph(name="g") as gb:
        O.relu(x)
    with xtc.compile(gb.graph, threads=1, cache=cache) as module:
        module.profile(repeat=1)
    assert len(list(tmp_path.glob("entries/*"))) == (2 if cache else 0)


def test_fused_operators_belong_to_their_reader() -> None:
    x, w = O.tensor((4, 4), name="x"), O.tensor((4, 4), name="w")
    with O.graph(name="g") as gb:
        a = O.matmul(x, w, name="a")
        b = O.relu(O.add(a, 1.0, name="plus"), name="b")
        O.reshape(O.tanh(b, name="c"), (16,), name="last")
    members = fused_nodes(gb.graph, {"b": [], "c": []})
    assert {name: [node.name for node in nodes] for name, nodes in members.items()} == {
        "b": ["a", "plus", "b"],
        "c": ["c", "last"],
    }


_KERNELS = (RecordedKernel("a", "g.kernel.a"), RecordedKernel("b", "g.kernel.b"))


def _profile() -> Profile:
    operators = (
        OperatorTime("a", ("matmul",), ("g.kernel.a",), 2e-3, 2_000_000, 1000, executed=1_600_000),
        OperatorTime("b", ("add", "relu"), ("g.kernel.b",), 1e-3, 1000, 4_000_000),
    )
    spans = spans_of(_KERNELS, [100, 2_000_100, 3_000_100])
    measured = {"overhead": 0.017, "overhead_error": 0.004, "vector_bits": 512}
    peaks = {512: 4e9, 256: 3e9}
    return Profile("g", operators, spans, 3.05e-3, 3e-3, 5, 2, 4e9, 8e9, peaks=peaks, **measured)


def test_rates_and_rooflines() -> None:
    a, b = _profile().operators
    assert a.flop_rate == pytest.approx(1e9)
    assert b.byte_rate == pytest.approx(4e9)
    assert a.of_peak(4e9) == pytest.approx(0.2)  # executed operations count for the peak
    assert b.of_peak(4e9) == pytest.approx(
        0.00025
    )  # operations of the graph if the executed ones are unknown
    assert _profile().roofline(a) == pytest.approx(0.2)
    assert _profile().roofline(b) == pytest.approx(0.5)
    assert a.intensity == 1600


def test_the_table_has_the_slowest_first_and_sums_the_others() -> None:
    assert _profile().table(1) == (
        "profile of g: 3.05 ms a call, the middle half of 5, 2 threads, 512-bit vectors\n"
        "measured here: peak in GFLOP/s 4.0 of 512-bit vectors, 3.0 of 256-bit vectors, "
        "reading 8.0 GB/s\n"
        "operator                   time      share    GFLOP/s    of peak       GB/s   roofline"
        "  computes\n"
        "a                          2 ms      66.7%        1.0        20%        0.0        20%"
        "  matmul\n"
        "1 others                   1 ms      33.3%\n"
        "in all                     3 ms     100.0%        0.7        13%\n"
        "operators are 98.4% of a call; recording costs 1.7%, give or take 0.4%\n"
    )


def test_arrays_read_from_caches_have_no_roofline() -> None:
    """Read faster than main memory allows, and below the peak."""
    operator = OperatorTime("a", ("relu",), (), 1e-3, 1000, 16_000_000)
    found = replace(_profile(), operators=(operator,))
    assert found.roofline(operator) == pytest.approx(2)
    assert "       0%       16.0     cached  relu" in found.table()


@pytest.mark.parametrize(
    ("origins", "text"),
    [
        ((), "  relu\n"),
        (("/a", "/b"), "  relu  of /a, /b\n"),
        (tuple("abcdef"), "  relu  of a, b, c, d, 2 more\n"),
    ],
)
def test_a_row_names_the_first_operators_of_a_file(origins: tuple[str, ...], text: str) -> None:
    operator = OperatorTime("a", ("relu",), (), 1e-3, 1000, 1000, origins=origins)
    assert text in replace(_profile(), operators=(operator,)).table()


def test_the_middle_half_omits_equally_many_fast_and_slow_calls() -> None:
    assert middle_half([5, 1, 9, 3, 4, 100, 2, 3]) == [0, 3, 4, 7]
    assert middle_half([7]) == [0]
    assert middle_half([2, 3, 1]) == [0, 1, 2]


@pytest.mark.parametrize(
    ("repeat", "text"),
    [
        (0, "repeat=0 is not 1 or more"),
        ("5", "repeat='5' is not an integer"),
        (2.5, "repeat=2.5 is not an integer"),
    ],
)
def test_an_invalid_number_of_calls_is_refused(repeat: object, text: str) -> None:
    with pytest.raises(UserError, match=re.escape(text)):
        require_calls(repeat)


def test_the_cost_of_recording_is_a_median_with_its_noise() -> None:
    assert median_ratio([2, 3, 40], [1, 1, 10]) == pytest.approx((3, 1.57 * 1 / 3**0.5))
    assert median_ratio([2], [1]) == (2, 0)


def test_the_timeline_has_each_kernel_of_a_call() -> None:
    _, _, first, second = _profile().timeline()["traceEvents"]
    assert (first["name"], first["ts"], first["dur"]) == ("a", 0.0, 2000.0)
    assert (second["name"], second["ts"], second["dur"]) == ("b", 2000.0, 1000.0)
    assert second["args"]["computes"] == "add relu"
    assert _profile().spans == (
        Span("a", "g.kernel.a", 0, 2_000_000),
        Span("b", "g.kernel.b", 2_000_000, 3_000_000),
    )


def test_c_records_no_times() -> None:
    with pytest.raises(UserError, match="codegen='c' records no profile"):
        HostOptions(codegen="c", profile=True)


def test_threads_have_rows_of_their_own() -> None:
    pieces = [Piece(0, 110, 150), Piece(1, 120, 180), Piece(2, 210, 290)]
    *caller, first, second = spans_of(_KERNELS, [100, 200, 300], pieces)
    assert [span.row for span in caller] == ["caller", "caller"]
    assert first == Span("a", "g.kernel.a", 20, 80, "thread 1")
    assert second == Span("b", "g.kernel.b", 110, 190, "thread 2")


@pytest.mark.slow
def test_parallel_loops_are_recorded_by_thread() -> None:
    x = O.tensor((512, 512), name="x")
    with O.graph(name="g") as gb:
        O.matmul(O.matmul(x, x, name="a"), x, name="b")
    with xtc.compile(gb.graph, threads=2, profile=True) as module:
        loaded = module._loaded
        assert isinstance(loaded, RecordedKernels)
        array = np.ones((512, 512), np.float32)
        pieces = loaded.pieces(lambda: module(array))
        begin, middle, end = loaded.stamps()
        assert {piece.thread for piece in pieces} <= {0, 1}  # their number depends on the machine
        assert all(begin <= piece.begin <= piece.end <= end for piece in pieces)
        assert {piece.begin < middle for piece in pieces} == {True, False}
        assert [kernel.node for kernel in loaded.kernels] == ["a", "b"]
        assert [kernel.operations for kernel in loaded.kernels] == [2 * 512**3] * 2
        assert loaded.vector_bits >= 128
        with pytest.raises(ZeroDivisionError):
            loaded.pieces(lambda: 1 // 0)  # type: ignore[arg-type, return-value]
        assert 0 < len(loaded.pieces(lambda: module(array))) <= 4  # two loops on two threads


def _device_profile() -> Profile:
    operators = (OperatorTime("h", ("matmul", "relu"), ("g_0",), 2e-6, 4000, 2000),)
    copies = (Copies("copy to", 2, 1500, 0.0), Copies("copy from", 1, 100, 1e-6))
    devices = (DeviceProfile("npu0", operators, copies, True, 4e9, 2e9),)
    host = (OperatorTime("rest", ("exp",), (), 3e-6, 30, 60),)
    spans = (Span("rest", "", 0, 1000), Span("h", "g_0", 1000, 3000, "npu0"))
    return Profile("g", host, spans, 1.0, 1.0, 1, devices=devices)


def test_a_device_has_a_separate_table() -> None:
    assert _device_profile().table() == (
        "profile of g: 1 call, one command after another\n"
        "npu0: peak 4.0 GFLOP/s, reading 2.0 GB/s\n"
        "npu0, modelled             time      share    GFLOP/s    of peak       GB/s   roofline"
        "  computes\n"
        "h                          2 us     100.0%        2.0        50%        1.0        50%"
        "  matmul+relu\n"
        "in all                     2 us     100.0%        2.0        50%\n"
        "copy to                       -                                                         "
        "2 copies, 1500 bytes\n"
        "copy from                  1 us                                         0.1             "
        "1 copy, 100 bytes\n"
        "on the host                time      share    GFLOP/s    of peak       GB/s   roofline"
        "  computes\n"
        "rest                       3 us     100.0%        0.0          -        0.0          -"
        "  exp\n"
    )


def test_a_picture_has_a_bar_for_each_span(tmp_path: Path) -> None:
    _device_profile().save_timeline(tmp_path / "g.svg")
    text = (tmp_path / "g.svg").read_text()
    root = ElementTree.fromstring(text)  # noqa: S314  our own
    titles = [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")]
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert titles == ["rest, 1 us", "h, 2 us"]
    assert {"One call of g: 3 us", "caller", "npu0, modelled"} <= set(texts)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["mppa", "null"])
def test_each_operator_of_a_device_has_its_time(kind: str) -> None:
    x = O.tensor((8, 8), name="x")
    with O.graph(name="g") as gb:
        a = O.matmul(x, x, name="a", device=kind)
        O.relu(O.matmul(O.exp(a, name="e"), x, name="b", device=kind), name="c", device=kind)
    values = np.random.default_rng(0).random((8, 8), np.float32)
    with xtc.compile(gb.graph) as module:
        before = module(values)
        found = module.profile(values, repeat=2)
        assert np.array_equal(module(values), before)
    (device,) = found.devices
    assert [operator.name for operator in device.operators] == ["a", "c"]
    assert [operator.computes for operator in device.operators] == [("matmul",), ("matmul", "relu")]
    assert all(operator.seconds > 0 for operator in device.operators)
    assert {copies.kind: copies.nbytes for copies in device.copies} == {
        "copy to": 512,
        "copy from": 256,
    }
    assert [operator.computes for operator in found.operators] == [("exp",)]
    assert device.is_modelled == (kind == "mppa")
    assert {span.row for span in found.spans} == {"caller", device.name}


def test_an_interrupt_while_commands_are_recorded_is_raised_after_them() -> None:
    def stopped() -> Mapping[str, float]:
        raise KeyboardInterrupt

    x = O.tensor((4,), name="x")
    with O.graph(name="g") as gb:
        O.exp(x, name="e", device="null")
    with xtc.compile(gb.graph) as module:
        (device,) = module.devices.values()
        module(np.ones(4, np.float32))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(device), "is_modelled", property(lambda self: True))
            patch.setattr(type(device), "modelled_figures", lambda self: stopped())
            with pytest.raises(KeyboardInterrupt):
                module.profile(repeat=1)
        assert np.allclose(module(np.ones(4, np.float32)), np.e)
