# SPDX-License-Identifier: Apache-2.0
"""Networks whose temporary arrays share an arena that the module keeps."""

from __future__ import annotations

import random
import resource
import threading
from collections.abc import Callable

import numpy as np
import pytest

import xtc
import xtc.ops as O
from benchmarks.networks import NETWORKS
from xtc.core.errors import UserError
from xtc.graph.tensor import Tensor
from xtc_targets.host.passes.plan_arena import PlanArena

_UNARY: tuple[Callable[[Tensor], Tensor], ...] = (O.relu, O.tanh, O.sigmoid, O.softmax)
_BINARY: tuple[Callable[[Tensor, Tensor], Tensor], ...] = (O.add, O.mul, O.maximum, O.matmul)


def random_graph(seed: int) -> xtc.Graph:
    """20 to 200 operators on matrices, whose results are read near and far."""
    rng = random.Random(seed)  # noqa: S311
    size = rng.choice((4, 16, 33))
    alive = [O.tensor((size, size), name=f"input{n}") for n in range(rng.randint(1, 3))]
    count = rng.randint(20, 200 if seed >= 100 else 40)
    with O.graph(name="random") as gb:
        for _ in range(count):
            operands = [rng.choice(alive[-6:]), rng.choice(alive)]
            kind = rng.random()
            if kind < 0.45:
                alive.append(rng.choice(_UNARY)(operands[0]))
            elif kind < 0.9:
                alive.append(rng.choice(_BINARY)(*operands))
            elif kind < 0.95:
                alive.append(O.transpose(operands[0]))
            else:
                both = O.concat(*operands, axis=0)
                alive.append(O.slice(both, (size // 2, 0), (size // 2 + size, size)))
    return gb.graph


def _results(graph: xtc.Graph) -> list[bytes]:
    inputs = [np.random.default_rng(1).random(t.shape, np.float32) for t in graph.inputs]
    with xtc.compile(graph, in_memory=True, threads=1) as module:
        texts = [_bytes(module(*inputs)) for _ in range(2)]  # then with what the first call left
    assert texts[0] == texts[1]
    return texts[0]


def _bytes(result: object) -> list[bytes]:
    arrays = result if isinstance(result, tuple) else (result,)
    return [np.asarray(array).tobytes() for array in arrays]


@pytest.mark.slow
def test_arenas_change_no_byte(is_long: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(1000 if is_long else 2):
        graph = random_graph(seed)
        shared = _results(graph)
        with monkeypatch.context() as patch:
            patch.setattr(PlanArena, "run", lambda self, module: None)
            assert _results(graph) == shared, seed


@pytest.fixture(scope="module")
def network() -> xtc.Graph:
    return NETWORKS["vit_s"](True)


@pytest.mark.slow
def test_calls_at_once_have_an_arena_each_and_close_waits(network: xtc.Graph) -> None:
    rng = np.random.default_rng(0)
    images = [rng.random((1, 32, 32, 3), np.float32) for _ in range(4)]
    module = xtc.compile(network, threads=1)
    assert int(module.artifact.manifest.toolchain["arena_bytes"]) == int(
        module.artifact.manifest.toolchain["arena_least_bytes"]
    )
    expected = [module(image) for image in images]
    wrong: list[int] = []
    closed = threading.Event()

    def call_again(number: int) -> None:
        while True:
            try:
                result = module(images[number])
            except UserError:
                assert closed.is_set()
                return
            if not np.array_equal(result, expected[number]):
                wrong.append(number)

    threads = [threading.Thread(target=call_again, args=(n,)) for n in range(len(images))]
    for thread in threads:
        thread.start()
    threading.Event().wait(0.3)
    closed.set()
    module.close()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.slow
def test_later_calls_touch_no_new_pages(network: xtc.Graph) -> None:
    image = np.zeros((1, 32, 32, 3), np.float32)
    out = np.empty((1, 10), np.float32)
    with xtc.compile(network, threads=1) as module, module._bound([image], [out]) as call:
        for _ in range(3):
            call()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(100):
            call()
        assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 10
