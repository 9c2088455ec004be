# SPDX-License-Identifier: Apache-2.0
"""`make bench-host` measures the workloads; rows contain the candidates that ran."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import host
from benchmarks.peers.candidate import Candidate, Unavailable
from benchmarks.peers.graphs import graph_of, sample_inputs
from benchmarks.peers.libraries import LIBRARIES, Library
from benchmarks.peers.run import Inputs, Settings, Yardstick, measure
from benchmarks.peers.team import Team
from benchmarks.peers.workloads import Workload, workloads
from tests.unit.bench_support import SMALL, fake_worker, library
from xtc import Graph

ALL = list(workloads())
QUICK = Settings(rounds=2, repeat=2, min_ms=0.01, quiet_seconds=0)


def test_names_are_unique() -> None:
    names = [workload.name for workload in ALL]
    assert len(set(names)) == len(names)
    assert len([name for name in names if name.startswith("conv ")]) == 23
    assert len({library.name for library in LIBRARIES}) == len(LIBRARIES)


@pytest.mark.parametrize("workload", ALL, ids=lambda workload: workload.name)
def test_a_workload_describes_its_graph(workload: Workload) -> None:
    arrays = [
        np.zeros(shape if place in workload.weights else (), np.float32)
        for place, shape in enumerate(workload.inputs)
    ]
    graph = graph_of(workload.as_dict(), arrays)
    assert graph.outputs[0].type.sizes == workload.output
    if workload.flops:
        products = [node for node in graph.nodes if node.op.name in ("matmul", "conv2d")]
        assert sum(node.flops for node in products) == workload.flops
    elements = sum(tensor.type.size for tensor in (*graph.inputs, *graph.constants))
    assert elements == sum(int(np.prod(shape)) for shape in workload.inputs)


class Scripted(Candidate):
    """A candidate that computes in this process, scaled by `factor`, until its worker is lost."""

    def __init__(self, name: str, factor: float = 1.0, lost_at: int | None = None) -> None:
        super().__init__(library(name), 1, fake_worker)
        self.asked: list[str] = []
        self._factor = factor
        self._lost_at = lost_at

    def ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        self.asked.append(request["do"])
        if request["do"] == "build":
            if request["output"] is not None:
                a, b = (np.load(path) for path in request["inputs"])
                np.save(request["output"], (a @ b) * np.float32(self._factor))
            return {"build_seconds": 0.1, "number": 3, "call_seconds": 1e-3}
        if self.asked.count("run") == self._lost_at:
            raise Unavailable("was ended by SIGSEGV")
        return {"samples": [1e-3 * self._factor] * request["repeat"]}

    def drop(self) -> None:
        self.asked.append("drop")


def measured(candidates: list[Candidate], folder: Path, **limits: float) -> Any:
    far = time.monotonic() + 1000
    limits = {"deadline": far, "end": far, **limits}
    inputs = Inputs(SMALL, folder, seed=0)
    marks = {"fma": Yardstick(Scripted("machine"), {"op": "fma"}, 1.0)}
    return measure(SMALL, inputs, candidates, marks, QUICK, **limits)


def test_every_candidate_is_visited_every_round(tmp_path: Path) -> None:
    ours, theirs = Scripted("ours"), Scripted("numpy")
    row = measured([ours, theirs], tmp_path)
    assert ours.asked == theirs.asked == ["build", "run", "run", "drop"]
    assert len(row.timings["ours"].samples) == 4
    assert row.timings["ours"].number == 3
    assert row.fma.median == pytest.approx(1000)
    assert row.quiet[1] in (0, 6)  # unknown if the system does not report it
    assert not row.wrong
    assert not row.absent
    assert not list(tmp_path.glob("output-*"))


def test_a_wrong_result_is_reported(tmp_path: Path) -> None:
    row = measured([Scripted("ours"), Scripted("numpy", factor=1.5)], tmp_path)
    assert "elements differ" in row.wrong["numpy"]
    assert "numpy" in row.timings


def test_a_lost_candidate_is_named_and_the_others_continue(tmp_path: Path) -> None:
    row = measured([Scripted("ours"), Scripted("numpy", lost_at=2)], tmp_path)
    assert row.absent == {"numpy": "was ended by SIGSEGV"}
    assert list(row.timings) == ["ours"]
    assert len(row.timings["ours"].samples) == 4


def test_a_run_keeps_its_time_limit(tmp_path: Path) -> None:
    competitor = Scripted("ours")
    past = time.monotonic() - 1
    measured([competitor], tmp_path, deadline=past)
    assert competitor.asked.count("run") == 1
    row = measured([Scripted("ours")], tmp_path, end=past)
    assert row.absent == {"ours": "no time was left for it"}


@pytest.mark.slow
def test_processes_end_to_end(tmp_path: Path) -> None:
    """This project and NumPy, each in a process, and a library that cannot be installed."""
    here = Path(sys.executable)
    numpy = Library("numpy", "NumPy", "openblas")
    found: dict[Library, Path | str] = {
        Library("ours", "xtc", "ours", is_ours=True): here,
        Library("tuned", "tuned", "ours_tuned", is_ours=True): here,
        numpy: here,
        library("torch"): "cannot be installed: no network",
    }
    far = time.monotonic() + 1000
    with Team(found, 1) as team:
        inputs = Inputs(SMALL, tmp_path, seed=0)
        marks = team.yardsticks(SMALL)
        row = measure(SMALL, inputs, team.candidates, marks, QUICK, far, far)
    assert {"ours", "numpy"} <= set(row.timings)
    assert row.wrong == {}
    assert row.absent["torch"] == "cannot be installed: no network"
    assert "tuned" in row.absent
    assert row.fma is not None
    assert row.ratio() is not None


@pytest.mark.slow
def test_traffic_is_measured_for_memory_bound_workloads(tmp_path: Path) -> None:
    small = Workload("chain", "chain", "float32", ((4096,),) * 2, (4096,), bound="triad")
    far = time.monotonic() + 1000
    here = {library("numpy"): Path(sys.executable)}
    with Team(here, 2) as team:
        inputs = Inputs(small, tmp_path, seed=0)
        row = measure(small, inputs, team.candidates, team.yardsticks(small), QUICK, far, far)
    assert row.traffic is not None
    assert row.traffic.median > 0
    assert row.absent == {}


def test_options_select_workloads_and_libraries(capsys: pytest.CaptureFixture[str]) -> None:
    host.main(["--list", "--only", "softmax, f32 64x"])
    assert capsys.readouterr().out.split("\n")[:2] == [
        "matmul f32 64x64x64",
        "softmax f32 1024x1024",
    ]


def test_written_graphs_are_the_measured_ones(tmp_path: Path) -> None:
    name = "depthwise f32 7x7x1024 3x3 /1 relu"
    host.main(["--graphs", str(tmp_path), "--only", name])
    (path,) = tmp_path.glob("*.yaml")
    workload = next(workload for workload in ALL if workload.name == name).as_dict()
    assert Graph.load(path) == graph_of(workload, sample_inputs(workload))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--only", "matmol"], "no workload's name contains 'matmol'"),
        (["--peers", "nunpy"], "did you mean 'numpy'"),
    ],
)
def test_invalid_arguments_are_explained(arguments: list[str], says: str) -> None:
    with pytest.raises(SystemExit, match=says):
        host.main(arguments)
