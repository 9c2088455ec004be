# SPDX-License-Identifier: Apache-2.0
"""Data movement that a schedule fuses is computed in the consumer's loops, correctly."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import xtc
import xtc.ops as O
from xtc.graph.tensor import Tensor

pytestmark = pytest.mark.slow


def _pad() -> Tensor:
    x, w = O.tensor((1, 8, 8, 3), name="X"), O.tensor((5, 5, 3, 16), name="W")
    return O.conv2d(O.pad(x, ((0, 0), (2, 2), (2, 2), (0, 0)), name="P"), w, stride=2, name="C")


def _padding() -> Tensor:
    x, w = O.tensor((1, 8, 8, 3), name="X"), O.tensor((3, 3, 3, 16), name="W")
    return O.conv2d(x, w, padding="same", name="C")


def _rows(moved: Tensor) -> Tensor:
    return O.matmul(moved, O.tensor((16, 40), name="B"), name="C")


def _transpose() -> Tensor:
    return _rows(O.transpose(O.tensor((16, 24), name="A")))


def _collapse() -> Tensor:
    return _rows(O.reshape(O.relu(O.tensor((6, 4, 2, 8), name="A")), (24, 16)))


def _expand() -> Tensor:
    moved = O.reshape(O.exp(O.tensor((24, 8), name="A")), (4, 6, 8))
    return O.add(moved, O.tensor((8,), name="B"), name="C")


def _slice() -> Tensor:
    return _rows(O.slice(O.tensor((60, 16), name="A"), (3, 0), (51, 16), (2, 1)))


def _concat() -> Tensor:
    first, second = O.tensor((7, 16), name="A"), O.relu(O.tensor((17, 16), name="D"))
    return _rows(O.concat(first, second, axis=0))


def _chain() -> Tensor:
    inner = O.relu(O.tensor((14, 22), "bfloat16", name="A"))
    return _rows(O.cast(O.transpose(O.pad(inner, ((1, 1), (1, 1)))), "float32"))


@pytest.mark.parametrize(
    ("build", "nest"),
    [
        (_pad, ["n", "h", "w=fuse:0", "r", "s", "c", "f=vectorize"]),
        (_pad, ["n", "h=fuse:0", "w#3=pack:0", "f"]),
        (_padding, ["n", "h=parallelize,fuse:0", "w", "r", "s", "c", "f=vectorize"]),
        (_transpose, ["i=fuse:0", "j", "k", "i#7=unroll"]),
        (_collapse, ["i=fuse:0", "k", "j", "i#7"]),
        (_expand, ["i", "j=fuse:0", "k", "j#4"]),
        (_slice, ["i", "j", "k", "i#8=fuse:0", "k#3"]),
        (_concat, ["i=fuse:0", "j", "k", "i#5"]),
        (_chain, ["i=fuse:0", "j", "k", "i#5"]),
    ],
)
@pytest.mark.parametrize("codegen", ["llvm", "c"])
def test_data_movement_is_computed_in_the_loop(
    build: Callable[[], Tensor], nest: list[str], codegen: str
) -> None:
    with O.graph(name="f") as graph:
        build()
    with xtc.compile(graph, schedule={"C": nest}, codegen=codegen, in_memory=True) as module:
        module.check()
        scheduled = module.ir("scheduled")
    assert "tensor.insert_slice %arg0" not in scheduled
    assert f"fuse {0}" in str(xtc.Schedule.of(graph, {"C": nest})["C"])
