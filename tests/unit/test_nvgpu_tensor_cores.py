# SPDX-License-Identifier: Apache-2.0
"""Matmuls on the simulated GPU's tensor cores: results compared with NumPy, and exact counts of
mma."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import xtc
import xtc.ops as O
from tests.unit.tensor_core_contractions import (
    EVENTS,
    Shape,
    bias_and_relu,
    counted,
    matmul_graph,
    with_sms,
)
from xtc.evaluate import MismatchError
from xtc.graph.tensor import Tensor
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

pytestmark = pytest.mark.slow

COUNT = max(5, settings().max_examples // 10)
KINDS = {"float16": ("MMA_F16", 16), "bfloat16": ("MMA_BF16", 16), "float32": ("MMA_TF32", 8)}
"""The counter of an element type, and the terms that one mma adds."""
SMALLEST = 32, 32
"""The tile of small products."""


@pytest.fixture(scope="module")
def gpu() -> Iterator[NvgpuDevice]:
    with NvgpuDevice(NvgpuOptions(sim_schedule="shuffled")) as device:
        yield device


def mma_count(shape: Shape, dtype: str, tile: tuple[int, int] = SMALLEST) -> int:
    """The number of mma for whole tiles of the result, with tiles of 128 bytes along K."""
    step = KINDS[dtype][1]
    m, n = tile
    blocks = math.ceil(shape.m / m) * math.ceil(shape.n / n)
    batch = math.prod(np.broadcast_shapes(shape.batch_a, shape.batch_b))
    steps = math.ceil(shape.k / (4 * step)) * 4
    return batch * blocks * (m // 16) * (n // 8) * steps


def wgmma_count(shape: Shape, tile: tuple[int, int]) -> int:
    """The number of wgmma for a warpgroup: 64 rows, all columns, and 16 elements of K at a time."""
    m, n = tile
    blocks = math.ceil(shape.m / m) * math.ceil(shape.n / n) * math.prod(shape.batch_a)
    return blocks * (m // 64) * math.ceil(shape.k / 64) * 4


def run(
    gpu: NvgpuDevice, graph: xtc.Graph, shape: Shape, dtype: str, tile: tuple[int, int] = SMALLEST
) -> None:
    """Check that the graph is correct, in one launch, with as many mma as tiles need."""
    with (
        xtc.compile(graph, target=gpu, tf32=dtype == "float32", opt_level=1) as module,
        counted(gpu) as events,
    ):
        module.check()
    name = KINDS[dtype][0]
    expected = {f"nvgpu.{event}": 0 for event in EVENTS}
    if tile[0] >= 64 and dtype != "float32":
        expected |= {f"nvgpu.W{name.replace('MMA', 'GMMA')}": wgmma_count(shape, tile)}
        expected |= {"nvgpu.LOADED_MATRICES": 0, "nvgpu.LAUNCHES": 1}
    else:
        expected |= {f"nvgpu.{name}": mma_count(shape, dtype, tile), "nvgpu.LAUNCHES": 1}
    assert {name: events[name] for name in expected} == expected
    assert gpu.memory_info()[0] == 0


sizes = st.one_of(st.integers(16, 80), st.sampled_from((16, 32, 64)))
batches = st.sampled_from((((), ()), ((3,), (3,)), ((2, 3), (2, 3)), ((2, 1), (3,)), ((), (2,))))


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    m, n, k = draw(sizes), draw(sizes), draw(sizes)
    batch_a, batch_b = draw(batches)
    return Shape(m, n, k, draw(st.booleans()), draw(st.booleans()), batch_a, batch_b)


@settings(
    max_examples=COUNT, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@example(Shape(33, 17, 20, False, True, (2, 1), (3,)), "float16", True)
@example(Shape(16, 32, 48, True, False, (), (2,)), "bfloat16", False)
@given(shape=shapes(), dtype=st.sampled_from(tuple(KINDS)), epilogue=st.booleans())
def test_a_matmul_of_any_shape(gpu: NvgpuDevice, shape: Shape, dtype: str, epilogue: bool) -> None:
    graph = matmul_graph(shape, dtype, bias_and_relu if epilogue else None)
    run(gpu, graph, shape, dtype)


@pytest.mark.parametrize(
    ("dtype", "shape", "tile", "sms"),
    [
        ("float16", Shape(128, 128, 192), (128, 128), 1),
        ("bfloat16", Shape(200, 136, 80, True, False), (128, 128), 5),
        ("float32", Shape(136, 140, 50, False, False), (128, 64), 1),
        ("float16", Shape(70, 65, 161, True, True, (2,), (2,)), (128, 64), 5),
        ("float32", Shape(64, 128, 40, True, True), (64, 64), 2),
    ],
)
def test_larger_tiles(
    gpu: NvgpuDevice,
    monkeypatch: pytest.MonkeyPatch,
    dtype: str,
    shape: Shape,
    tile: tuple[int, int],
    sms: int,
) -> None:
    with_sms(monkeypatch, sms)
    run(gpu, matmul_graph(shape, dtype, bias_and_relu), shape, dtype, tile)


def test_epilogues_may_read_other_operands(gpu: NvgpuDevice) -> None:
    """A residual, a column of factors, and an array operand."""
    shape = Shape(48, 40, 64)
    residual, factors = O.tensor((48, 40), "float16"), O.tensor((48, 1), "float16")

    def then(c: Tensor) -> Tensor:
        return O.add(O.mul(O.tanh(c), factors), residual)

    run(gpu, matmul_graph(shape, "float16", then), shape, "float16")


@pytest.mark.parametrize(
    "then",
    [
        lambda c: O.greater(c, O.tensor(c.shape, "float16")),
        lambda c: O.where(O.tensor(c.shape, "bool"), c, O.tensor(c.shape, "float16")),
        lambda c: O.cast(c, "int8"),
        lambda c: O.cast(O.relu(c), "float64"),
    ],
    ids=["comparison", "choice", "int8", "float64"],
)
def test_epilogues_may_have_other_types(gpu: NvgpuDevice, then: Callable[[Tensor], Tensor]) -> None:
    """Rows of small elements are accessed by fewer bytes: a tile has one access per thread."""
    shape = Shape(64, 64, 32)
    run(gpu, matmul_graph(shape, "float16", then), shape, "float16")


def test_a_matmul_with_two_readers_is_a_separate_kernel(gpu: NvgpuDevice) -> None:
    def then(c: Tensor) -> Tensor:
        O.exp(c, name="D")
        return O.relu(c, name="E")

    with (
        xtc.compile(matmul_graph(Shape(32, 32, 32), "float16", then), target=gpu) as module,
        counted(gpu) as events,
    ):
        module.check()
    assert events["nvgpu.MMA_F16"] == mma_count(Shape(32, 32, 32), "float16")


def test_chained_matmuls(gpu: NvgpuDevice) -> None:
    x, w = O.tensor((40, 64), "bfloat16"), O.tensor((64, 64), "bfloat16")
    with O.graph(name="f") as graph:
        y = O.relu(O.matmul(x, w))
        O.add(O.matmul(y, w), O.matmul(x, w, transpose_b=True))
    with xtc.compile(graph, target=gpu) as module, counted(gpu) as events:
        module.check()
    assert events["nvgpu.MMA_BF16"] == 3 * mma_count(Shape(40, 64, 64), "bfloat16")
    assert events["nvgpu.LAUNCHES"] == 3


def test_a_slice_may_be_an_operand(gpu: NvgpuDevice) -> None:
    """Its rows begin at odd elements, so they are copied one by one; those of W are not."""
    x, w = O.tensor((64, 96), "float16"), O.tensor((40, 32), "float16")
    with O.graph(name="f") as graph:
        O.matmul(O.slice(x, (3, 5), (51, 45)), w)
    with xtc.compile(graph, target=gpu) as module, counted(gpu) as events:
        module.check()
    assert events["nvgpu.MMA_F16"] == mma_count(Shape(48, 32, 40), "float16")
    assert events["nvgpu.ASYNC_COPY_BYTES"] == 2 * w.type.size * 2


def test_attention(gpu: NvgpuDevice) -> None:
    q, k, v = (O.tensor((2, 2, 32, 64), "float16", name=name) for name in "QKV")
    with O.graph(name="f") as graph:
        O.matmul(O.softmax(O.matmul(q, k, transpose_b=True)), v)
    with xtc.compile(graph, target=gpu, opt_level=1) as module, counted(gpu) as events:
        module.check()
    shapes = Shape(32, 32, 64, batch_a=(2, 2)), Shape(32, 64, 32, batch_a=(2, 2))
    assert events["nvgpu.MMA_F16"] == sum(mma_count(shape, "float16") for shape in shapes)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("second", [False, True])
def test_a_contraction_may_be_an_operand_of_a_concatenation(
    gpu: NvgpuDevice, axis: int, second: bool
) -> None:
    """Bufferization places the other operand between the contraction and its rounding."""

    def then(c: Tensor) -> Tensor:
        other = O.tensor((32, 32), "float16", name="other")
        return O.concat(*((other, c) if second else (c, other)), axis=axis, name="R")

    graph = matmul_graph(Shape(32, 32, 32), "float16", then)
    with xtc.compile(graph, target=gpu) as module, counted(gpu) as events:
        module.check()
    assert events["nvgpu.MMA_F16"] > 0


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [
        ("float32", Shape(32, 32, 32)),
        ("float64", Shape(32, 32, 32)),
        ("float16", Shape(15, 15, 64)),
        ("float16", Shape(64, 15, 63)),
        ("bfloat16", Shape(64, 64, 15)),
    ],
)
def test_unsupported_contractions_take_the_general_path(
    gpu: NvgpuDevice, dtype: str, shape: Shape
) -> None:
    with xtc.compile(matmul_graph(shape, dtype), target=gpu) as module, counted(gpu) as events:
        module.check()
    assert [events[f"nvgpu.{name}"] for name in EVENTS] == [0, 0, 0]


def test_a_users_schedule_is_followed(gpu: NvgpuDevice) -> None:
    graph = matmul_graph(Shape(32, 32, 32), "float16")
    schedule = xtc.Schedule(graph)
    schedule["C"].parallelize("i")
    with xtc.compile(graph, target=gpu, schedule=schedule) as module, counted(gpu) as events:
        module.check()
    assert events["nvgpu.MMA_F16"] == 0


def test_tf32_rounds_operands_to_nearest(gpu: NvgpuDevice) -> None:
    """1 + 2^-11 is halfway between 1 and the next TF32 number."""
    a = np.full((16, 16), 1 + 2**-11 + 2**-20, np.float32)
    largest = np.finfo(np.float32).max
    with xtc.compile(matmul_graph(Shape(16, 16, 16), "float32"), target=gpu, tf32=True) as module:
        up = module(a, np.eye(16, dtype=np.float32))
        down = module(a - np.float32(2**-19), np.eye(16, dtype=np.float32))
        huge = module(np.diag(np.float32([largest, np.inf, np.nan] + [0] * 13)), a)
    assert (up == 1 + 2**-10).all()
    assert (down == 1).all()
    assert np.isinf(huge[:2]).all()
    assert np.isnan(huge[2]).all()


def test_tf32_is_checked_with_its_own_roundoff(gpu: NvgpuDevice) -> None:
    graph = matmul_graph(Shape(32, 32, 256), "float32")
    with xtc.compile(graph, target=gpu, tf32=True) as module:
        (rounded,) = module.check()
        rtol = rounded.rtol
        with pytest.raises(MismatchError):
            module.check(rtol=1e-5, atol=1e-5)
    with xtc.compile(graph, target=gpu) as module:
        (exact,) = module.check()
    assert exact.rtol < rtol == pytest.approx(2**-7, rel=0.01)


def test_sums_are_in_float32(gpu: NvgpuDevice) -> None:
    """2048 ones after 2048: float16 lacks 2049, and its largest number is below 2048 * 64."""
    a = np.ones((16, 4096), np.float16)
    a[:, :2048] *= 32
    b = np.ones((4096, 16), np.float16)
    b[:2048] /= 32
    with xtc.compile(matmul_graph(Shape(16, 16, 4096), "float16"), target=gpu) as module:
        assert (module(a, b) == 4096).all()
