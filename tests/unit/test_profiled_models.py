# SPDX-License-Identifier: Apache-2.0
"""Profiles of models with dynamic sizes, loops, several devices, and from several threads."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx", reason="the package onnx is not installed")

import onnx.parser

import xtc
import xtc.ops as O
from xtc.core.errors import UserError
from xtc.driver.specialized import SpecializedModule
from xtc.evaluate.profile import Profile
from xtc_targets.host.device import LocalHost

pytestmark = pytest.mark.slow

MODEL = """
<ir_version: 8, opset_import: ["": 17]>
g (float[N, 8] x, float[8, 8] w) => (float[N, 8] y) {
  [first] a = MatMul(x, w)
  [cut] b = Relu(a)
  y = Softmax(b)
}
"""


@pytest.fixture(autouse=True)
def _known_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the host's rates, so that no test measures them."""
    monkeypatch.setattr(LocalHost, "peaks_by_width", lambda self, dtype: {256: 1e11})
    monkeypatch.setattr(LocalHost, "memory_bandwidth", lambda self: 1e10)


def _ones(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.ones(shape, np.float32)


def test_rows_name_the_operators_of_the_file() -> None:
    model = xtc.from_onnx(onnx.parser.parse_model(MODEL), dims={"N": 4})
    with xtc.compile(model.graph, threads=1) as module:
        found = module.profile(repeat=1)
    named = [operator.origins for operator in found.operators]
    assert named == [
        ("first",),
        ("cut",),
        ("y",),
    ]  # a node without a name is named after its result
    assert "  matmul  of first\n" in found.table()
    assert found.timeline()["traceEvents"][2]["args"]["of the file"] == "first"


def test_a_model_with_dynamic_sizes_is_profiled_on_arrays() -> None:
    with xtc.compile(xtc.from_onnx(onnx.parser.parse_model(MODEL)), threads=1) as module:
        found = module.profile(_ones(3, 8), _ones(8, 8), repeat=1)
        assert sum(operator.nbytes for operator in found.operators) == 4 * (64 + 6 * 3 * 8)
        with pytest.raises(UserError, match="'g' has dynamic sizes, so a profile takes arrays"):
            module.profile(repeat=1)
        assert isinstance(module, SpecializedModule)
        assert module.specialize(N=5).profile(repeat=1).operators


def test_a_bucket_is_profiled_at_its_size() -> None:
    model = xtc.from_onnx(onnx.parser.parse_model(MODEL))
    with xtc.compile(model, buckets={"N": [4]}, threads=1) as module:
        before = module(_ones(3, 8), _ones(8, 8))
        found = module.profile(_ones(3, 8), _ones(8, 8), repeat=1)
        assert sum(operator.nbytes for operator in found.operators) == 4 * (64 + 6 * 4 * 8)
        assert np.array_equal(module(_ones(3, 8), _ones(8, 8)), before)


def test_a_loop_is_an_operator_with_all_its_iterations() -> None:
    x = O.tensor((5, 8), name="x")
    with O.graph(name="g") as gb:
        O.relu(O.cumsum(x, name="sums"), name="y")
    with xtc.compile(gb.graph, threads=1) as module:
        found = module.profile(repeat=1)
    assert sum(operator.flops for operator in found.operators) == gb.graph.flops


def _product() -> xtc.Graph:
    x = O.tensor((8, 8), name="x")
    with O.graph(name="g") as gb:
        O.matmul(O.exp(x, name="e"), x, name="m")
    return gb.graph


def test_several_threads_profile_a_module_concurrently() -> None:
    found: list[Profile] = []
    with xtc.compile(_product(), threads=1) as module:
        callers = [
            threading.Thread(target=lambda: found.append(module.profile(repeat=20)))
            for _ in range(3)
        ]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
    assert [[o.name for o in profile.operators] for profile in found] == [["e", "m"]] * 3
    assert all(operator.seconds > 0 for profile in found for operator in profile.operators)


def test_modelled_devices_are_labeled_beside_measured_ones() -> None:
    x = O.tensor((8, 8), name="x")
    with O.graph(name="g") as gb:
        a = O.matmul(x, x, name="a", device="mppa")
        O.relu(O.add(O.exp(a, name="e"), x, name="b", device="null"), name="c")
    with xtc.compile(gb.graph) as module:
        found = module.profile(repeat=2)
    rows = {line.split("  ")[0] for line in found.table().splitlines() if " time " in line}
    assert rows == {"mppa0, modelled", "null0", "on the host"}
    assert {d.name: [o.name for o in d.operators] for d in found.devices} == {
        "mppa0": ["a"],
        "null0": ["b"],
    }


def test_unprofilable_modules_are_explained(tmp_path: Path) -> None:
    with xtc.compile(_product(), threads=1) as module:
        module.save(tmp_path / "saved")
        with pytest.raises(UserError, match=re.escape("'x' has shape (8, 8), not (3, 3)")):
            module.profile(_ones(3, 3))
    with pytest.raises(UserError, match="module 'g' is closed"):
        module.profile()
    with (
        xtc.load(tmp_path / "saved") as loaded,
        pytest.raises(UserError, match="'g' was loaded from files, which do not contain its graph"),
    ):
        loaded.profile()
