# SPDX-License-Identifier: Apache-2.0
"""Operations on rows of a GPU are one kernel, which reads and writes each element once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xtc
import xtc.ops as O
from tests.unit.test_nvgpu_tiles import counted
from xtc.graph.tensor import Tensor
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

pytestmark = pytest.mark.slow

COUNT = max(8, settings().max_examples // 12)


@pytest.fixture(scope="module")
def simulator() -> Iterator[NvgpuDevice]:
    with NvgpuDevice(NvgpuOptions(sim_schedule="shuffled", sim_races=True)) as device:
        yield device


def graph(operator: Callable[..., Any], *shapes: tuple[int, ...], dtype: str = "float32") -> Any:
    inputs = [O.tensor(shape, dtype, name=f"X{number}") for number, shape in enumerate(shapes)]
    with O.graph(name="f") as made:
        operator(*inputs)
    return made.graph


def log_softmax(x: Tensor) -> Tensor:
    shifted = O.sub(x, O.reduce_max(x, axes=[-1], keepdims=True))
    return O.sub(shifted, O.log(O.reduce_sum(O.exp(shifted), axes=[-1], keepdims=True)))


def rms_norm(x: Tensor, scale: Tensor) -> Tensor:
    squares = O.reduce_mean(O.mul(x, x), axes=[-1], keepdims=True)
    return O.mul(O.mul(x, O.rsqrt(squares)), scale)


def l2_norm(x: Tensor) -> Tensor:
    return O.div(x, O.sqrt(O.reduce_sum(O.mul(x, x), axes=[-1], keepdims=True)))


def moments(x: Tensor) -> None:
    mean = O.reduce_mean(x, axes=[-1], keepdims=True)
    centered = O.sub(x, mean)
    variance = O.reduce_mean(O.mul(centered, centered), axes=[-1], keepdims=True)
    O.outputs(mean, centered, variance)


def residual_norm(x: Tensor, y: Tensor, scale: Tensor, shift: Tensor) -> None:
    total = O.add(x, y)
    O.outputs(total, O.gelu(O.layer_norm(total, scale, shift)))


def masked(x: Tensor, mask: Tensor) -> Tensor:
    return O.softmax(O.add(O.mul(x, x), mask))


def two_columns_of_a_part(x: Tensor) -> Tensor:
    y = O.slice(x, [0, 0, 2], [6, 4, 7])
    return O.exp(O.sub(y, O.reduce_max(y, axes=[1, 2], keepdims=True)))


ROW, COLUMNS = (37, 200), (200,)
FORMS: dict[str, Any] = {
    "softmax": (O.softmax, [ROW], 1, 1),
    "log_softmax": (log_softmax, [ROW], 1, 1),
    "layer_norm": (O.layer_norm, [ROW, COLUMNS, COLUMNS], 3, 1),
    "layer_norm of several dimensions": (
        lambda x, scale: O.layer_norm(x, scale, axis=1),
        [(37, 10, 20), (10, 20)],
        2,
        1,
    ),
    "rms_norm": (rms_norm, [ROW, COLUMNS], 2, 1),
    "l2_norm": (l2_norm, [ROW], 1, 1),
    "moments": (moments, [ROW], 1, 1 + 2 / 200),
    "residual_norm": (residual_norm, [ROW, ROW, COLUMNS, COLUMNS], 4, 2),
    "masked": (masked, [(3, 2, 9, 33), (3, 1, 9, 33)], 2, 1),
    "mask of keys": (masked, [(3, 2, 9, 33), (3, 1, 1, 33)], 2, 1),
    "a single row": (O.softmax, [(200,)], 1, 1),
    "short rows": (O.softmax, [(100, 3)], 1, 1),
    "long rows": (O.softmax, [(2, 5000)], 1, 1),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_group_is_one_kernel(simulator: NvgpuDevice, name: str) -> None:
    """`loads` and `stores` are how often an element of a row is accessed, in tensors of its size;
    each row reads a column's scale."""
    operator, shapes, loads, stores = FORMS[name]
    events = counted(simulator, graph(operator, *shapes))
    launches, nbytes = events["LAUNCHES"], 4 * math.prod(shapes[0])
    runs = 2 if name == "long rows" else 1  # long sums are checked twice
    assert launches == runs
    assert events["GLOBAL_READ_BYTES"] == runs * loads * nbytes
    assert events["GLOBAL_WRITE_BYTES"] == runs * stores * nbytes


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
@pytest.mark.parametrize("operator", [O.softmax, log_softmax, O.layer_norm, l2_norm])
def test_every_float_type(simulator: NvgpuDevice, operator: Callable[..., Any], dtype: str) -> None:
    events = counted(simulator, graph(operator, (7, 130), dtype=dtype))
    assert events["LAUNCHES"] == 1
    nbytes = {"float64": 8}.get(dtype, 2) * 7 * 130
    assert events["GLOBAL_READ_BYTES"] == events["GLOBAL_WRITE_BYTES"] == nbytes


def test_integers_are_reduced_too(simulator: NvgpuDevice) -> None:
    shifted = graph(
        lambda x: O.sub(x, O.reduce_max(x, axes=[-1], keepdims=True)), (9, 70), dtype="int32"
    )
    assert counted(simulator, shifted)["LAUNCHES"] == 1


def test_a_boolean_mask_selects(simulator: NvgpuDevice) -> None:
    x, mask = O.tensor((5, 6, 40), name="X"), O.tensor((6, 40), "bool", name="M")
    with O.graph(name="f") as made:
        O.softmax(O.where(mask, x, O.mul(x, x)))
    events = counted(simulator, made.graph)
    assert events["LAUNCHES"] == 1
    assert events["GLOBAL_READ_BYTES"] == (4 + 1) * 5 * 6 * 40


def test_a_barrier_is_needed_only_between_warps(simulator: NvgpuDevice) -> None:
    short = counted(simulator, graph(O.softmax, (300, 1000)))
    assert (short["BARRIERS"], short["SHARED_WRITE_BYTES"]) == (0, 0)
    assert counted(simulator, graph(O.softmax, (3, 3000)))["BARRIERS"] > 0


@pytest.mark.parametrize(
    ("operator", "shape"),
    [
        (lambda x: O.softmax(x, axis=0), (40, 50)),  # strided
        (O.softmax, (2, 40000)),  # too long for the registers of a block
        (two_columns_of_a_part, (6, 4, 8)),  # columns are apart in memory
    ],
)
def test_what_is_left_to_other_kernels(
    simulator: NvgpuDevice, operator: Callable[..., Any], shape: tuple[int, ...]
) -> None:
    assert counted(simulator, graph(operator, shape))["LAUNCHES"] > 1


def test_the_schedule_of_a_user_wins(simulator: NvgpuDevice) -> None:
    made = graph(lambda x: O.softmax(O.exp(x, name="E"), name="Y"), (32, 64))
    schedule = xtc.Schedule(made)
    schedule["Y"].parallelize(["i", "j"])
    with xtc.compile(made, target=simulator, schedule=schedule) as module:
        before = simulator.counters()
        module.check()
        after = simulator.counters()
    assert after["nvgpu.LAUNCHES"] - before["nvgpu.LAUNCHES"] == 2  # the division alone


def test_a_kernel_in_between_divides_a_group(simulator: NvgpuDevice) -> None:
    """What depends on the group through a matmul cannot run before it."""

    def operator(x: Tensor, w: Tensor) -> Tensor:
        y = O.softmax(x)
        return O.layer_norm(O.add(O.matmul(y, w), y))

    events = counted(simulator, graph(operator, (32, 64), (64, 64)))
    assert events["LAUNCHES"] == 4  # two groups, zeros, and the matmul


def test_two_groups_wait_for_each_other_in_one_direction(simulator: NvgpuDevice) -> None:
    """Otherwise, neither of their kernels could run first."""

    def operator(x: Tensor, y: Tensor, w: Tensor) -> None:
        a = O.softmax(x)
        b = O.sub(y, O.reduce_max(y, axes=[-1], keepdims=True))
        O.outputs(O.mul(a, O.matmul(b, w)), O.add(b, O.matmul(a, w)))

    events = counted(simulator, graph(operator, (32, 64), (32, 64), (64, 64)))
    assert events["LAUNCHES"] == 7  # two groups, two matmuls with zeros, and a product or sum


@settings(max_examples=COUNT, deadline=None)
@given(data=st.data())
def test_random_groups(simulator: NvgpuDevice, data: st.DataObject) -> None:
    """Reductions and elementwise operations on tensors that broadcast to each other."""
    rank = data.draw(st.integers(1, 4))
    shape = [data.draw(st.integers(1, 6)) for _ in range(rank - 1)]
    shape.append(data.draw(st.sampled_from([1, 2, 5, 8, 33, 64, 100, 160])))
    axes = list(range(data.draw(st.integers(0, rank - 1)), rank))
    dtype = data.draw(st.sampled_from(["float32", "float32", "float16", "bfloat16"]))

    def drawn_shape(number: int) -> tuple[int, ...]:
        keep = [number == 0 or data.draw(st.integers(0, 2)) > 0 for _ in shape]
        return tuple(size if kept else 1 for size, kept in zip(shape, keep, strict=True))

    shapes = [drawn_shape(number) for number in range(data.draw(st.integers(1, 3)))]

    def operator(*inputs: Tensor) -> None:
        tensors = list(inputs)
        for _ in range(data.draw(st.integers(2, 8))):
            x, y = (data.draw(st.sampled_from(tensors)) for _ in range(2))
            kind = data.draw(st.sampled_from(["unary", "binary", "reduce", "softmax"]))
            if kind == "unary":
                tensors.append(data.draw(st.sampled_from([O.tanh, O.sigmoid, O.abs]))(x))
            elif kind == "binary":
                tensors.append(data.draw(st.sampled_from([O.sub, O.maximum]))(O.tanh(x), O.tanh(y)))
            elif kind == "softmax":
                tensors.append(O.softmax(x))
            else:
                reduced = data.draw(st.sampled_from([O.reduce_mean, O.reduce_max, O.reduce_min]))
                tensors.append(reduced(x, axes=axes, keepdims=True))

    counted(simulator, graph(operator, *shapes, dtype=dtype))
