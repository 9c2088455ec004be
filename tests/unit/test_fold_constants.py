# SPDX-License-Identifier: Apache-2.0
"""Results that the host would compute from constants for a device in each call are folded."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import xtc
import xtc.ops as O
from xtc.graph.fold_constants import fold_constants
from xtc.graph.tensor import Tensor
from xtc_targets.null import NullDevice

WEIGHTS = np.arange(32 * 32, dtype=np.float32).reshape(32, 32)
Write = Callable[[Tensor], Tensor]

REWRITTEN: dict[str, Write] = {
    "cast": lambda w: O.cast(O.cast(w, "float16"), "float32"),
    "pad": lambda w: O.pad(w[1:31, 1:31], ((1, 1), (1, 1)), value=2),
    "concat": lambda w: O.concat(w[:16], w[8:24], axis=0),
    "every second": lambda w: O.reshape(w[::2, ::2], (8, 32))[:1],
    "tile": lambda w: O.tile(w[:16], (2, 1)),
}
VIEWED: dict[str, Write] = {
    "itself": lambda w: w,
    "transposed": O.transpose,
    "reshaped": lambda w: O.reshape(w, (1, 32, 32)),
}


@pytest.fixture(scope="module")
def device() -> Iterator[NullDevice]:
    with NullDevice() as opened:
        yield opened


def graph_of(write: Write, device: object) -> xtc.Graph:
    weights = O.tensor(WEIGHTS.shape, name="w", const=WEIGHTS)
    with O.graph(name="weighted") as gb:
        O.add(O.tensor((32, 32), name="x", device=device), write(weights), device=device)
    return gb.graph


def sent_bytes(graph: xtc.Graph, device: NullDevice) -> float:
    """The bytes that a second call sends, on a device array."""
    with xtc.compile(graph, opt_level=0) as module:
        x = device.array(np.ones((32, 32), np.float32))
        module.check()
        module(x)
        before = device.counters()["null.H2D_BYTES"]
        module(x)
        return device.counters()["null.H2D_BYTES"] - before


@pytest.mark.slow
@pytest.mark.parametrize("name", [*REWRITTEN, *VIEWED])
def test_folded_constants_are_not_sent(device: NullDevice, name: str) -> None:
    assert sent_bytes(graph_of((REWRITTEN | VIEWED)[name], device), device) == 0


@pytest.mark.parametrize("name", REWRITTEN)
def test_the_graph_has_the_folded_value(name: str) -> None:
    graph = graph_of(REWRITTEN[name], "npu0")
    folded = fold_constants(graph)
    assert [node.op.name for node in folded] == ["add"]
    assert folded.inputs == graph.inputs
    x = np.ones((32, 32), np.float32)
    np.testing.assert_array_equal(folded.evaluate(x), graph.evaluate(x))


@pytest.mark.parametrize("name", VIEWED)
def test_views_of_constants_are_not_folded(name: str) -> None:
    graph = graph_of(VIEWED[name], "npu0")
    assert fold_constants(graph) is graph


def test_results_without_device_readers_are_not_folded() -> None:
    weights = O.tensor((4,), name="w", const=np.ones(4, np.float32))
    with O.graph(name="host") as gb:
        wide = O.concat(weights, weights, axis=0, name="wide")
        O.exp(wide, name="here")
        O.exp(O.pad(wide, 1, name="padded"), name="there", device="npu0")
    assert [node.name for node in fold_constants(gb.graph)] == ["wide", "here", "there"]


def test_scheduled_operators_outputs_and_growing_results_are_not_folded() -> None:
    weights = O.tensor((16, 16), name="w", const=np.ones((16, 16), np.float32))
    with O.graph(name="kept") as gb:
        scheduled = O.cast(weights, "float16", name="scheduled")
        given = O.cast(weights, "float16", name="given")
        large = O.tile(O.reshape(weights, (256,)), [1 << 10], name="large")
        for n, tensor in enumerate((scheduled, given, large)):
            O.neg(tensor, name=f"there{n}", device="npu0")
        O.outputs(given, *(node.output for node in gb.nodes if "there" in str(node.name)))
    folded = fold_constants(gb.graph, kept=["scheduled"])
    assert folded is gb.graph
