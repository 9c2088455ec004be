# SPDX-License-Identifier: Apache-2.0
"""Padding writes each element once, for any border, and agrees with NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import xtc
import xtc.ops as O
from xtc.graph.graph import Graph
from xtc.graph.tensor import Tensor
from xtc_passes.tensor._padding import slabs

pytestmark = pytest.mark.slow

SPAN = st.tuples(st.integers(0, 3), st.integers(1, 4), st.integers(0, 3))


@given(st.lists(SPAN, min_size=1, max_size=4))
def test_slabs_and_inside_cover_everything_once(spans: list[tuple[int, int, int]]) -> None:
    offsets, sizes, _ = zip(*spans, strict=True)
    written = np.zeros([sum(span) for span in spans], int)
    inside = [(offsets, sizes)]
    for first, counts in [*inside, *slabs(written.shape, offsets, sizes)]:
        written[tuple(slice(a, a + n) for a, n in zip(first, counts, strict=True))] += 1
    assert (written == 1).all()


def padded(shape: tuple[int, ...], padding: object, value: object, element: str) -> Graph:
    x = O.tensor(shape, element, name="X")
    with O.graph(name="padded") as gb:
        O.pad(x, padding, value=value, name="P")
    return gb.graph


@pytest.mark.parametrize("codegen", ["llvm", "c"])
@pytest.mark.parametrize(
    ("shape", "padding", "value", "element"),
    [
        ((5,), [(0, 3)], 1.5, "float32"),
        ((3, 7), [(2, 0), (0, 1)], float("-inf"), "float32"),
        ((1, 5, 3, 2), [0, (9, 1), (0, 7), 0], -7, "int8"),
        ((2, 3, 1, 5), [(1, 2), (0, 1), (3, 0), (1, 1)], float("inf"), "float16"),
        ((2, 1, 2, 3, 2), [0, 1, (0, 2), (1, 0), 4], 3.25, "float64"),
        ((4, 3), [(0, 0), (0, 0)], 2.0, "float32"),
    ],
)
def test_any_border_holds_its_value(
    shape: tuple[int, ...], padding: object, value: object, element: str, codegen: str
) -> None:
    with xtc.compile(padded(shape, padding, value, element), codegen=codegen) as module:
        module.check()


@pytest.mark.parametrize("threads", [1, 2])
def test_large_interiors_are_copied_row_by_row(threads: int) -> None:
    graph = padded((3, 57, 61, 32), [0, (1, 2), (0, 3), 0], 4.0, "float32")
    with xtc.compile(graph, threads=threads, in_memory=True) as module:
        assert ("scf.forall" in module.ir("scheduled")) == (threads > 1)
        module.check()


@pytest.mark.parametrize(
    ("padding", "stride", "threads"),
    [
        (((0, 2), (1, 0)), 1, 2),
        (((0, 2), (1, 0)), 2, 1),
        (((2, 2), (0, 1)), 1, 1),
        (((2, 2), (0, 1)), 3, 2),
        (((1, 1), (1, 1)), 2, 2),
        (((1, 1), (1, 1)), 3, 1),
    ],
)
def test_windows_over_a_border(
    padding: tuple[tuple[int, int], tuple[int, int]], stride: int, threads: int
) -> None:
    x, w = O.tensor((2, 29, 31, 20), name="X"), O.tensor((3, 3, 1, 20), name="W")
    with O.graph(name="windows") as gb:
        O.relu(O.conv2d(x, w, stride=stride, padding=padding, groups=20))
        O.max_pool2d(x, 3, stride=stride, padding=padding)
        O.avg_pool2d(x, 3, stride=stride, padding=padding)
    with xtc.compile(gb.graph, threads=threads, in_memory=True) as module:
        module.check()


@pytest.mark.parametrize("border", [5, ((7, 0), (0, 9))])
def test_a_convolution_may_have_a_border_wider_than_its_window(border: object) -> None:
    x, w = O.tensor((1, 9, 11, 8), name="X"), O.tensor((3, 3, 8, 12), name="W")
    with O.graph(name="wide") as gb:
        O.conv2d(x, w, padding=border)
    with xtc.compile(gb.graph, in_memory=True) as module:
        module.check()


def test_a_padded_result_is_computed_inside_of_the_border() -> None:
    x, w = O.tensor((1, 30, 30, 16), name="X"), O.tensor((3, 3, 1, 16), name="W")
    with O.graph(name="chain") as gb:
        O.conv2d(O.relu(x), w, padding=1, groups=16)
    with xtc.compile(gb.graph, in_memory=True) as module:
        assert "memref.copy" not in module.ir("bufferized")
        assert module.ir("bufferized").count("memref.alloc(") == 1
        module.check()


def test_a_padded_tensor_may_have_other_readers() -> None:
    x, w = O.tensor((1, 30, 30, 16), name="X"), O.tensor((3, 3, 1, 16), name="W")
    with O.graph(name="residual") as gb:
        y = O.relu(x)
        O.add(O.conv2d(y, w, padding=1, groups=16), y)
        O.pad(y, (0, 2, 2, 0), value=3.0)
    with xtc.compile(gb.graph, in_memory=True) as module:
        module.check()


def filters(channels: int) -> Tensor:
    return O.tensor((3, 3, 1, channels), name="W")


@pytest.mark.parametrize(
    ("padding", "stride", "codegen"),
    [
        (((0, 2), (1, 0)), 1, "c"),
        (((0, 2), (1, 0)), 3, "llvm"),
        (((2, 0), (0, 1)), 1, "llvm"),
        (((2, 0), (0, 1)), 2, "c"),
        (((1, 1), (2, 1)), 2, "llvm"),
        (((1, 1), (2, 1)), 3, "c"),
    ],
)
def test_large_images_are_padded_some_rows_at_a_time(
    padding: tuple[tuple[int, int], tuple[int, int]], stride: int, codegen: str
) -> None:
    (top, bottom), _ = padding
    x, w = O.tensor((1, 39 * stride + 3 - top - bottom, 31, 20), name="X"), filters(20)
    with O.graph(name="windows") as gb:
        O.relu(O.conv2d(x, w, stride=stride, padding=padding, groups=20))
    rows = {1: 10, 2: 11, 3: 12}[stride]  # of 8, 5 and 4 positions out of 40: no more fit
    with xtc.compile(gb.graph, codegen=codegen, threads=1, l2_bytes=65536) as module:
        module.check()
        text = module.ir("bufferized")
    assert f"memref.alloc() {{alignment = 64 : i64}} : memref<1x{rows}x" in text
    assert text.count("memref.alloc(") == 1


def test_a_pool_over_blocks_has_a_separate_border() -> None:
    x = O.tensor((1, 60, 30, 16), name="X")
    with O.graph(name="pool") as gb:
        O.max_pool2d(x, 3, stride=2, padding=1)
    with xtc.compile(gb.graph, threads=1, l2_bytes=65536, in_memory=True) as module:
        assert "memref<1x62x32x16xf32>" not in module.ir("bufferized")
        module.check(-np.ones((1, 60, 30, 16), np.float32))


def test_a_batch_and_a_residual_of_large_images() -> None:
    x, w = O.tensor((2, 40, 40, 16), name="X"), filters(16)
    with O.graph(name="residual") as gb:
        O.add(O.conv2d(x, w, padding=1, groups=16), x)
        O.max_pool2d(x, 3, stride=2, padding=1)
    with xtc.compile(gb.graph, threads=1, l2_bytes=32768, in_memory=True) as module:
        module.check()


@pytest.mark.parametrize(
    ("element", "shape"),
    [
        ("float64", (17,)),
        ("float16", (3, 16)),
        ("bfloat16", (2, 3, 33)),
        ("int8", (4, 1, 1, 5)),
        ("int64", (5, 1)),
        ("bool", (1,)),
        ("bool", (2, 3, 33)),
    ],
)
def test_a_border_of_ones_of_any_type(element: str, shape: tuple[int, ...]) -> None:
    with xtc.compile(padded(shape, [2] * len(shape), 1, element), in_memory=True) as module:
        module.check()
