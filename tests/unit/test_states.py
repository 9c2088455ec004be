# SPDX-License-Identifier: Apache-2.0
"""States live in a module between calls: updated in place, readable, settable, reset, saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xtc
import xtc.ops as O
from xtc.core.errors import ArtifactError, UserError
from xtc.graph.graph import Graph

pytestmark = pytest.mark.slow


def cache_graph() -> Graph:
    """A row is written to a cache at a position; the result is the mean of the cache."""
    cache = O.tensor((4, 8), name="cache", state=True)
    row, position = O.tensor((1, 8), name="row"), O.tensor((1, 1), "int64", name="position")
    with O.graph(name="remember") as builder:
        new = O.scatter_nd(cache, position, row)
        O.inputs(row, position)
        O.outputs(O.reduce_sum(new, axes=(0,), name="total"))
        O.update(cache, new)
    return builder.graph


def row(number: int) -> Any:
    return np.full((1, 8), number, np.float32), np.array([[number]])


@pytest.mark.parametrize("codegen", ["llvm", "c"])
def test_calls_update_states_in_place(codegen: str) -> None:
    with xtc.compile(cache_graph(), codegen=codegen, in_memory=codegen == "llvm") as module:
        kept = module.state["cache"]
        np.testing.assert_array_equal(module(*row(1)), np.full(8, 1))
        np.testing.assert_array_equal(module(*row(3)), np.full(8, 4))
        np.testing.assert_array_equal(kept[:, 0], [0, 1, 0, 3])
        module.state["cache"] = np.ones((4, 8), np.float32)
        np.testing.assert_array_equal(module(*row(2)), np.full(8, 5))
        comparisons = module.check()
        assert [comparison.name for comparison in comparisons] == ["total", "cache"]
        module.check(*row(0))
        np.testing.assert_array_equal(kept[:, 0], [1, 1, 2, 1])
        module.state.reset()
        assert not kept.any()


def test_a_cache_is_not_copied() -> None:
    with xtc.compile(cache_graph(), in_memory=True) as module:
        bufferized = module.ir("bufferized")
    assert "memref<4x8xf32>" not in "".join(
        line for line in bufferized.splitlines() if "alloc" in line or "copy" in line
    )


def test_calls_update_the_arrays_of_their_caller() -> None:
    """As in a server that generates several texts with one module, each with a cache."""
    caches = [np.zeros((4, 8), np.float32) for _ in range(3)]
    with xtc.compile(cache_graph(), in_memory=True) as module:
        for number, cache in enumerate(caches):
            np.testing.assert_array_equal(module(*row(number), cache=cache), np.full(8, number))
            np.testing.assert_array_equal(module(*row(3), cache=cache), np.full(8, number + 3))
        for number, cache in enumerate(caches):
            expected = np.zeros(4)
            expected[number], expected[3] = number, 3
            np.testing.assert_array_equal(cache[:, 0], expected)
        assert not module.state["cache"].any()
        before = caches[0].copy()
        with pytest.raises(UserError, match="state 'cache' overlaps another argument"):
            module(caches[0][:1], np.array([[1]]), cache=caches[0])
        with pytest.raises(UserError, match="out= for 'total' overlaps another argument"):
            module(*row(1), cache=caches[0], out=caches[0][1])
        caches[1].flags.writeable = False
        with pytest.raises(UserError, match="state 'cache' is read-only"):
            module(*row(1), cache=caches[1])
        np.testing.assert_array_equal(caches[0], before)


def test_two_states_of_a_call_cannot_be_one_array() -> None:
    a, b = (O.tensor((3,), name=name, state=True) for name in "ab")
    with O.graph(name="swapped") as builder:
        O.update(a, O.relu(b))
        O.update(b, O.exp(a))
        O.outputs(O.add(a, b))
    with xtc.compile(builder.graph, in_memory=True) as module:
        ours = np.ones(3, np.float32)
        with pytest.raises(UserError, match=r"state '[ab]' overlaps another argument"):
            module(a=ours, b=ours)
        np.testing.assert_array_equal(module(a=ours), np.ones(3))
        np.testing.assert_array_equal(ours, np.zeros(3))
        np.testing.assert_allclose(module.state["b"], np.full(3, np.e))
        assert not module.state["a"].any()


def test_readers_of_a_state_see_its_old_value() -> None:
    a, b = (O.tensor((3,), name=name, state=True) for name in "ab")
    x = O.tensor((3,), name="x")
    with O.graph(name="swapped") as builder:
        first, second = O.add(O.mul(b, 2.0), x), O.relu(a)
        O.update(a, first)
        O.update(b, second)
        O.outputs(O.add(a, b, name="total"))
    graph = builder.graph
    x_array = np.array([1, -2, 3], np.float32)
    with xtc.compile(graph, in_memory=True) as module:
        old = np.zeros((2, 3), np.float32)
        for _ in range(4):
            np.testing.assert_array_equal(module(x_array), old.sum(0))
            old = np.stack([2 * old[1] + x_array, np.maximum(old[0], 0)])
            np.testing.assert_array_equal([module.state["a"], module.state["b"]], old)
        module.check()


def test_states_are_saved(tmp_path: Path) -> None:
    with xtc.compile(cache_graph()) as module:
        module(*row(2))
        module.save(tmp_path / "saved")
        module.state.save(tmp_path / "states.npz")
        module.state.reset()
        module.state.load(tmp_path / "states.npz")
        assert module.state["cache"][2, 0] == 2
    with xtc.load(tmp_path / "saved") as module:
        assert module.state["cache"][2, 0] == 2
        np.testing.assert_array_equal(module(*row(1)), np.full(8, 3))
    (tmp_path / "states.npz").write_bytes(b"nothing")
    with xtc.compile(cache_graph()) as module, pytest.raises(ArtifactError, match="no states"):
        module.state.load(tmp_path / "states.npz")


def test_states_round_trip_in_graph_files(tmp_path: Path) -> None:
    graph = cache_graph()
    graph.save(tmp_path / "graph.yaml")
    again = Graph.load(tmp_path / "graph.yaml")
    assert str(again) == str(graph)
    assert "update %cache = %scatter_nd0" in str(graph)
    outputs = graph.evaluate(*row(1))
    np.testing.assert_array_equal(outputs, np.full(8, 1))


def test_states_have_initial_values(tmp_path: Path) -> None:
    count = O.tensor((2,), "int32", name="count", state=True, const=np.array([5, 7], np.int32))
    step = O.tensor((2,), "int32", name="step")
    with O.graph(name="counted") as builder:
        O.update(count, O.add(count, step, name="next"))
        O.outputs(O.mul(count, step))
    builder.graph.save(tmp_path / "graph.yaml")
    step_array = np.ones(2, np.int32)
    with xtc.compile(Graph.load(tmp_path / "graph.yaml")) as module:
        assert [list(module(step_array)) for _ in range(2)] == [[5, 7], [6, 8]]
        module.save(tmp_path / "saved")
        module.state.reset()
        assert list(module(step_array)) == [5, 7]
    with xtc.load(tmp_path / "saved") as module:
        assert [list(module(step_array)) for _ in range(2)] == [[7, 9], [8, 10]]
        module.state.reset()
        assert list(module(step_array)) == [7, 9]


def test_graphs_with_states_are_tuned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from xtc.search import tune

    state = O.tensor((32, 32), name="kept", state=True, const=np.ones((32, 32), np.float32))
    with O.graph(name="step") as builder:
        product = O.matmul(state, O.tensor((32, 32), name="x"), name="y")
        O.update(state, O.relu(product))
        O.outputs(product)
    monkeypatch.setenv("XTC_TUNING_DB", str(tmp_path / "tuning.db"))
    found = tune(builder.graph, trials=1, budget=None, jobs=1)
    assert isinstance(found, str)  # the schedule of a correct candidate


def test_invalid_states_are_refused() -> None:
    with pytest.raises(UserError, match="a state lives on the host"):
        O.tensor((2,), state=True, device="mppa")
    state, x = O.tensor((2,), name="s", state=True), O.tensor((2,), name="x")
    with pytest.raises(UserError, match="state 's' is never updated"), O.graph():
        O.add(state, x)
    with pytest.raises(UserError, match=r"the first argument of O\.update is a state"), O.graph():
        O.update(x, O.relu(x))
    other = "state 's' is 2xfloat32, and its update 1x2xfloat32"
    with pytest.raises(UserError, match=other), O.graph():
        O.update(state, O.reshape(O.add(state, x), (1, 2)))
    with pytest.raises(UserError, match="state 's' is never read"), O.graph():
        O.update(state, (O.relu(x), O.exp(x))[0])
    with xtc.compile(cache_graph(), in_memory=True) as module:
        with pytest.raises(UserError, match="state 'cache' is not dense in row-major order"):
            module(*row(1), cache=np.zeros((8, 4), np.float32).T)
        with pytest.raises(UserError, match="state 'cache' is list, not a NumPy array"):
            module(*row(1), cache=[[0.0] * 8] * 4)
        with pytest.raises(UserError, match="there is no state 'cach'"):
            _ = module.state["cach"]
        with pytest.raises(UserError, match="has shape"):
            module.state["cache"] = np.zeros((4, 9), np.float32)
