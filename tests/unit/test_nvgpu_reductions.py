# SPDX-License-Identifier: Apache-2.0
"""Row reductions on a GPU: the threads of a block share a row, several blocks a single row."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import xtc
import xtc.ops as O
from tests.unit.nvgpu_code import ARCHITECTURES, gpu, machine_code, needs_ptxas, ptx_of
from tests.unit.tensor_core_contractions import Shape, matmul_graph
from tests.unit.test_nvgpu_tiles import counted
from xtc.evaluate.compare import MismatchError
from xtc.graph.tensor import Tensor
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions
from xtc_targets.nvgpu.passes import distribute_blocks

pytestmark = pytest.mark.slow

Operator = Callable[[Tensor], Tensor]
TYPES = ("float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64")


@pytest.fixture(scope="module")
def simulator() -> Iterator[NvgpuDevice]:
    with NvgpuDevice(NvgpuOptions(sim_schedule="shuffled")) as device:
        yield device


def graph(operator: Operator, shape: tuple[int, ...], dtype: str = "float32") -> xtc.Graph:
    x = O.tensor(shape, dtype, name="X")
    with O.graph(name="f") as made:
        operator(x)
    return made.graph


@pytest.mark.parametrize("dtype", TYPES)
def test_every_type_is_exchanged_between_lanes(simulator: NvgpuDevice, dtype: str) -> None:
    sums = graph(lambda x: O.reduce_sum(x, axes=[1], name="Y"), (3, 70), dtype)
    maxima = graph(lambda x: O.reduce_max(x, axes=[1], name="Y"), (5, 300), dtype)
    for reduction in (sums, maxima):
        assert counted(simulator, reduction)["SHUFFLES"] > 0


@pytest.mark.parametrize("length", [32, 33, 63, 64, 127, 128, 255, 256, 1000, 1033, 1024, 4000])
def test_rows_of_any_length_are_shared(simulator: NvgpuDevice, length: int) -> None:
    events = counted(simulator, graph(lambda x: O.reduce_sum(x, axes=[1], name="Y"), (3, length)))
    # One kernel, which begins with zeros in registers.
    assert events["LAUNCHES"] == 1
    assert events["GLOBAL_READ_BYTES"] == 4 * 3 * length
    assert events["SHUFFLES"] > 0


@pytest.mark.parametrize(
    ("operator", "shape"),
    [
        (lambda x: O.softmax(x, name="Y"), (3, 500)),
        (lambda x: O.layer_norm(x, name="Y"), (3, 500)),
        (lambda x: O.reduce_mean(x, axes=[0], name="Y"), (500, 3)),
        (lambda x: O.reduce_min(x, axes=[0, 2], name="Y"), (40, 3, 6)),
        (lambda x: O.reduce_sum(O.mul(x, x), name="Y"), (60, 60)),
    ],
)
def test_operators_with_rows(
    simulator: NvgpuDevice, operator: Operator, shape: tuple[int, ...]
) -> None:
    assert counted(simulator, graph(operator, shape))["SHUFFLES"] > 0


def scaled_maxima(x: Tensor) -> Tensor:
    scale = O.tensor((x.shape[0], x.shape[2]), str(x.dtype), name="scale")
    return O.tanh(O.mul(O.reduce_max(x, axes=[1]), scale), name="Y")


def transposed_sums(x: Tensor) -> Tensor:
    return O.transpose(O.abs(O.reduce_sum(x, axes=[2])), (1, 0), name="Y")


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize(
    ("operator", "shape"),
    [
        (lambda x: O.relu(O.reduce_mean(x, axes=[1])), (7, 300)),  # threads share rows
        (lambda x: O.reduce_mean(x, axes=[1]), (40, 50)),
        (lambda x: O.neg(O.reduce_sum(x, axes=[1])), (33, 9)),  # a thread per row
        (scaled_maxima, (3, 50, 40)),  # warps read columns
        (transposed_sums, (5, 6, 70)),
        (transposed_sums, (6, 6, 9)),
        (lambda x: O.exp(O.reduce_mean(x)), (90,)),
        (lambda x: O.relu(O.avg_pool2d(x, 3)), (2, 9, 12, 5)),
    ],
)
def test_a_reduction_and_the_operators_on_its_result_are_a_kernel(
    simulator: NvgpuDevice, operator: Operator, shape: tuple[int, ...], dtype: str
) -> None:
    assert counted(simulator, graph(operator, shape, dtype))["LAUNCHES"] == 1


def test_a_result_with_two_readers_is_stored(simulator: NvgpuDevice) -> None:
    def twice(x: Tensor) -> None:
        sums = O.reduce_sum(x, axes=[1], name="S")
        O.outputs(sums, O.exp(sums, name="Y"))

    assert counted(simulator, graph(twice, (7, 40)))["LAUNCHES"] == 2


def resampled(x: Tensor, taps: int) -> Tensor:
    positions = O.tensor((taps, 11), "int32", name="positions")
    weights = O.tensor((taps, 11), str(x.dtype), name="weights")
    return O.relu(O.resample(x, positions, weights, axis=1), name="Y")


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("taps", [1, 2, 40])
def test_a_reduction_over_gathered_elements_is_a_kernel(
    simulator: NvgpuDevice, taps: int, dtype: str
) -> None:
    made = graph(lambda x: resampled(x, taps), (2, 7, 5, 3), dtype)
    assert counted(simulator, made)["LAUNCHES"] == 1


@pytest.mark.parametrize("groups", [1, 24])
def test_a_grouped_convolution_of_threads_applies_its_bias(
    simulator: NvgpuDevice, groups: int
) -> None:
    def layer(x: Tensor) -> Tensor:
        w = O.tensor((3, 3, 24 // groups, 24 if groups > 1 else 2), "float16", name="W")
        y = O.conv2d(x, w, groups=groups)
        return O.relu(O.add(y, O.tensor((y.shape[3],), "float16", name="B")), name="Y")

    assert counted(simulator, graph(layer, (2, 7, 9, 24), "float16"))["LAUNCHES"] == 1


def test_a_pooled_part_of_a_larger_tensor_has_a_thread_per_element(
    simulator: NvgpuDevice,
) -> None:
    """The window of a pooling is a buffer that nothing reads."""
    made = graph(
        lambda x: O.pad(O.max_pool2d(x, 3, stride=2, padding=1), ((0, 0), (1, 1), (1, 1), (0, 0))),
        (1, 16, 16, 8),
    )
    events = counted(simulator, made)
    # The border and inside of the image, that of the result, and the maxima.
    assert events["LAUNCHES"] <= 4
    assert events["THREADS"] >= 8 * 8 * 8


def test_the_sum_of_everything_runs_on_many_blocks(simulator: NvgpuDevice) -> None:
    events = counted(simulator, graph(lambda x: O.reduce_sum(x, name="Y"), (256, 512)))
    # 64 parts of 2048 elements, and their sum; long sums are checked twice.
    assert (events["LAUNCHES"], events["BLOCKS"]) == (2 * 2, 2 * (64 + 1))
    assert events["GLOBAL_READ_BYTES"] == 2 * 4 * (256 * 512 + 64)


def test_short_rows_have_one_thread_each(simulator: NvgpuDevice) -> None:
    events = counted(simulator, graph(lambda x: O.reduce_sum(x, axes=[1], name="Y"), (100, 31)))
    assert (events["SHUFFLES"], events["BARRIERS"]) == (0, 0)


@pytest.mark.parametrize(
    ("dtype", "columns"), list(zip(TYPES, itertools.cycle((32, 45, 96)), strict=False))
)
def test_columns_are_read_side_by_side(simulator: NvgpuDevice, dtype: str, columns: int) -> None:
    """Once: not by lanes that exchange sums of a column."""
    made = graph(lambda x: O.reduce_max(x, axes=[0], name="Y"), (50, columns), dtype)
    events = counted(simulator, made)
    assert events["SHUFFLES"] == 0
    assert events["BARRIERS"] > 0


@pytest.mark.parametrize("batch", [(), (2,)])
def test_long_columns_have_parts(simulator: NvgpuDevice, batch: tuple[int, ...]) -> None:
    """16 of 64 elements each, which another kernel adds."""
    made = graph(lambda x: O.reduce_sum(x, axes=[-2], name="Y"), (*batch, 1024, 40))
    events = counted(simulator, made)
    results = 40 * math.prod(batch)
    assert events["LAUNCHES"] % 2 == 0
    times = events["LAUNCHES"] // 2
    assert events["GLOBAL_WRITE_BYTES"] == times * 4 * results * (16 + 1)


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        (Shape(1, 96, 512), "float32"),
        (Shape(3, 40, 256), "int8"),
        (Shape(96, 2, 512, True), "float64"),
        (Shape(2, 33, 512, False, True), "int8"),
    ],
)
def test_skinny_contractions(simulator: NvgpuDevice, shape: Shape, dtype: str) -> None:
    counted(simulator, matmul_graph(shape, dtype))


def test_columns_do_not_race() -> None:
    with NvgpuDevice(NvgpuOptions(sim_races=True)) as device:
        counted(device, matmul_graph(Shape(1, 70, 512), "float32"))


@needs_ptxas
@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("dtype", ["float16", "float32", "int8"])
def test_threads_read_16_bytes(arch: str, dtype: str, tmp_path: Path) -> None:
    ptx = ptx_of(matmul_graph(Shape(1, 256, 4096, False, True), dtype), gpu(arch))
    made = machine_code(ptx, arch, tmp_path)
    assert set(made.spilled_bytes.values()) == {0}
    wide = "cp.async" if dtype == "float16" else "ld.global.nc.v4"
    assert wide in ptx


@needs_ptxas
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_rows_are_read_by_vectors(arch: str, tmp_path: Path) -> None:
    ptx = ptx_of(graph(lambda x: O.reduce_max(x, axes=[1], name="Y"), (64, 4096)), gpu(arch))
    assert ptx.count("shfl.sync.bfly.b32") == 5 + 3
    assert "ld.global.nc.v4" in ptx
    machine_code(ptx, arch, tmp_path)


@pytest.mark.parametrize(("shape", "axis"), [((3, 1030), 1), ((1030, 40), 0)])
def test_missing_barriers_are_detected(
    simulator: NvgpuDevice, monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], axis: int
) -> None:
    monkeypatch.setattr(distribute_blocks, "insert_barriers", lambda _body: None)
    with pytest.raises(MismatchError):
        counted(simulator, graph(lambda x: O.reduce_sum(x, axes=[axis], name="Y"), shape))
