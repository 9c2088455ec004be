# SPDX-License-Identifier: Apache-2.0
"""xtc.quantize: converted operators, accuracy, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xtc
import xtc.ops as O
from xtc.core.errors import UserError
from xtc.graph.graph import Graph

rng = np.random.default_rng(0)


def weights(*shape: int) -> Any:
    return O.tensor(shape, const=rng.normal(0, 0.4, shape).astype(np.float32))


def network() -> Graph:
    x = O.tensor(("n", 8, 8, 3), name="x")
    with O.graph(name="network") as gb:
        y = O.relu(O.add(O.conv2d(x, weights(3, 3, 3, 8), padding=1), weights(8)), name="first")
        z = O.conv2d(y, weights(3, 3, 1, 8), groups=8, padding=1, name="depthwise")
        y = O.minimum(O.relu(O.add(y, z)), 6.0, name="sum")
        y = O.sigmoid(O.max_pool2d(y, 2), name="gate")
        y = O.concat(y, O.avg_pool2d(z, 2), axis=3, name="both")
        y = O.reduce_mean(y, axes=(1, 2), name="mean")
        O.softmax(O.add(O.matmul(y, weights(16, 5)), weights(5)), name="y")
    return gb.graph


def samples(count: int = 16) -> list[Any]:
    return [rng.normal(0, 1, (2, 8, 8, 3)).astype(np.float32) for _ in range(count)]


def test_all_operators_become_int8_within_tolerance() -> None:
    graph = network()
    quantized = xtc.quantize(graph, samples())
    names = [error.name for error in quantized.errors]
    assert {"first", "depthwise", "sum", "gate", "both", "mean", "y"} <= set(names)
    assert {error.form for error in quantized.errors} == {"int8"}
    assert all(error.relative < 0.03 for error in quantized.errors), quantized.report()
    x = samples(1)[0]
    assert np.abs(quantized.evaluate(x) - graph.evaluate(x)).max() < 0.02
    assert quantized.inputs[0].shape == ("n", 8, 8, 3)
    assert not [node for node in quantized.nodes[1:-1] if node.output.dtype == "float32"]


@pytest.mark.slow
def test_integers_at_the_border_and_on_a_board() -> None:
    pytest.importorskip("unicorn", reason="the package unicorn is not installed")
    quantized = xtc.quantize(network(), samples(4), int8_io=True)
    assert [t.dtype for t in (*quantized.inputs, *quantized.outputs)] == ["int8", "int8"]
    assert quantized.quantizations["y"] == O.Quantization(1 / 256, -128)
    with xtc.compile(quantized, "embedded", board="nucleo-h7a3", dims={"n": 1}) as module:
        module.check()


def test_channels_have_their_own_scales() -> None:
    x = O.tensor((4, 8), name="x")
    kernel = np.eye(8, dtype=np.float32) * 10.0 ** np.arange(-4, 4, dtype=np.float32)
    with O.graph(name="scales") as gb:
        O.matmul(x, O.tensor((8, 8), const=kernel), name="y")
    quantized = xtc.quantize(gb.graph, [np.ones((4, 8), np.float32)])
    (node,) = [node for node in quantized.nodes if node.op.name == "requantize"]
    scales = np.asarray(node.inputs[1].const) * 2.0 ** -np.asarray(node.inputs[3].const, float)
    assert np.allclose(scales[1:] / scales[:-1], 10, rtol=1e-3)


def test_operators_without_an_int8_form_stay_float() -> None:
    x = O.tensor((4, 6), name="x")
    with O.graph(name="mixed") as gb:
        y = O.cumsum(O.relu(O.matmul(x, weights(6, 6))), axis=1, name="sums")
        O.matmul(y, weights(6, 3), name="y")
    quantized = xtc.quantize(gb.graph, [rng.normal(0, 1, (4, 6)).astype(np.float32)])
    forms = {error.name: error.form for error in quantized.errors}
    assert forms == {"relu0": "int8", "sums": "float32", "y": "int8"}


def test_outputs_with_readers_and_constants_are_quantized() -> None:
    x = O.tensor((1, 6), name="x")
    with O.graph(name="shared") as gb:
        y = O.mul(x, weights(6), name="y")
        O.outputs(y, O.add(y, 1.0, name="z"), O.sub(x, weights(1, 6), name="w"))
    sample = [rng.normal(0, 1, (1, 6)).astype(np.float32) for _ in range(4)]
    quantized = xtc.quantize(gb.graph, sample)
    assert [t.name for t in quantized.outputs] == ["y", "z", "w"]
    wanted = gb.graph.evaluate(sample[0])
    for name, array in quantized.evaluate(sample[0]).items():
        assert np.abs(array - wanted[name]).max() < 0.05


def test_report_names_operators() -> None:
    text = xtc.quantize(network(), samples(2)).report()
    head, *lines = text.splitlines()
    assert head.split() == ["relative", "largest", "scale", "form", "operator"]
    assert lines[-1].endswith("int8     softmax 'y'")


def test_refusals() -> None:
    graph = network()
    with pytest.raises(UserError, match="needs samples, and there are none"):
        xtc.quantize(graph, [])
    with pytest.raises(UserError, match="a sample has 2 arrays, and graph 'network' 1 inputs"):
        xtc.quantize(graph, [tuple(samples(2))])
    with pytest.raises(UserError, match="'x' is not finite for a sample"):
        xtc.quantize(graph, [np.full((2, 8, 8, 3), np.nan, np.float32)])
    with pytest.raises(UserError, match="input 'x' is float32, not float64"):
        xtc.quantize(graph, [np.zeros((2, 8, 8, 3))])
