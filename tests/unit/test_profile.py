# SPDX-License-Identifier: Apache-2.0
"""Where the time of a call goes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import xtc
import xtc.ops as O
from benchmarks.networks import NETWORKS
from xtc.core.errors import UserError
from xtc.driver.profiling import fused_nodes
from xtc.evaluate.profile import OperatorTime, Profile, Span, spans_of
from xtc_targets.host.device import LocalHost
from xtc_targets.host.options import HostOptions


@pytest.mark.slow
def test_a_profile_is_of_every_operator_and_changes_no_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(LocalHost, "peak_flops", lambda self, dtype: 1e11)
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
    assert 0 < found.spans[-1].end * 1e-9 <= found.seconds
    kernels = [operator.kernels for operator in found.operators]
    assert len(set(kernels)) < len(kernels)  # equal layers run equal functions


def test_what_is_fused_belongs_to_the_operator_that_reads_it() -> None:
    x, w = O.tensor((4, 4), name="x"), O.tensor((4, 4), name="w")
    with O.graph(name="g") as gb:
        a = O.matmul(x, w, name="a")
        b = O.relu(O.add(a, 1.0, name="plus"), name="b")
        O.reshape(O.tanh(b, name="c"), (16,), name="last")
    members = fused_nodes(gb.graph, dict.fromkeys(("b", "c")))
    assert {name: [node.name for node in nodes] for name, nodes in members.items()} == {
        "b": ["a", "plus", "b"],
        "c": ["c", "last"],
    }


def _profile() -> Profile:
    operators = (
        OperatorTime("a", ("matmul",), ("g.kernel.a",), 2e-3, 2_000_000, 1000),
        OperatorTime("b", ("add", "relu"), ("g.kernel.b",), 1e-3, 1000, 4_000_000),
    )
    spans = spans_of([("a", "g.kernel.a"), ("b", "g.kernel.b")], [100, 2_000_100, 3_000_100])
    return Profile("g", operators, spans, 3.05e-3, 3e-3, 5, 2, 4e9, 8e9)


def test_rates_and_rooflines() -> None:
    a, b = _profile().operators
    assert a.flop_rate == pytest.approx(1e9)
    assert b.byte_rate == pytest.approx(4e9)
    assert _profile().roofline(a) == pytest.approx(0.25)
    assert _profile().roofline(b) == pytest.approx(0.5)
    assert a.intensity == 2000
    assert _profile().overhead == pytest.approx(0.05 / 3)


def test_the_table_has_the_slowest_first_and_sums_the_others() -> None:
    assert _profile().table(1) == (
        "profile of g: 3.05 ms a call, median of 5, 2 threads\n"
        "measured here: peak 4.0 GFLOP/s, reading 8.0 GB/s\n"
        "operator                   time      share    GFLOP/s       GB/s   roofline  computes\n"
        "a                          2 ms      66.7%        1.0        0.0        25%  matmul\n"
        "1 others                   1 ms      33.3%\n"
        "in all                     3 ms     100.0%        0.7\n"
        "operators are 98.4% of a call; recording costs 1.7%\n"
    )


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
