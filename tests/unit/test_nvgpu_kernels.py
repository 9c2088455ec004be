# SPDX-License-Identifier: Apache-2.0
"""Kernels on the simulated GPU: collective operations of threads, compared with NumPy and the PTX
ISA."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.unit.nvgpu_support import Kernels, opened

XOR, INDEX, UP, DOWN = 2, 3, 0, 1
ALL = 0xFFFFFFFF
POISON = 0x7FF57FF5

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("collected")]


@pytest.fixture(params=["sequential", "shuffled"])
def kernels(request: pytest.FixtureRequest) -> Iterator[Kernels]:
    with opened(sim_schedule=request.param, seed=7) as device:
        yield device


def test_blocks_and_threads_have_indices(kernels: Kernels) -> None:
    out = kernels.device.zeros(12 * 24, "int32")
    kernels.device.launch(kernels.places, [out])
    expected = [
        (bz * 100 + by * 10 + bx) * 1000 + z * 100 + y * 10 + x
        for bz, by, bx in np.ndindex(2, 3, 2)
        for z, y, x in np.ndindex(3, 2, 4)
    ]
    lanes = np.arange(12 * 24) % 24 * 10_000_000
    assert (out.numpy() == np.array(expected) + 3_000_000 + lanes).all()


def test_threads_of_many_blocks_add(kernels: Kernels) -> None:
    a, b = np.random.default_rng(0).random((2, 250), np.float32)
    arrays = [kernels.device.array(array) for array in (a, b, np.zeros_like(a))]
    kernels.device.launch(kernels.add, [*arrays, 250])
    assert np.array_equal(arrays[2].numpy(), a + b)


def test_threads_of_a_block_share_memory_across_a_barrier(kernels: Kernels) -> None:
    a = np.arange(512, dtype=np.float32)
    out = kernels.device.zeros(512, "float32")
    kernels.device.launch(kernels.reverse, [kernels.device.array(a), out])
    assert np.array_equal(out.numpy(), a.reshape(2, 256)[:, ::-1].ravel())


def test_warps_reduce_by_shuffles(kernels: Kernels) -> None:
    a = np.random.default_rng(0).integers(-9, 9, (5, 128)).astype(np.float32)
    out = kernels.device.zeros(5, "float32")
    kernels.device.launch(kernels.reduce, [kernels.device.array(a), out])
    assert np.array_equal(out.numpy(), a.sum(1))


def test_warps_synchronize_by_named_barriers(kernels: Kernels) -> None:
    a = np.arange(128, dtype=np.float32)
    out = kernels.device.zeros(128, "float32")
    kernels.device.launch(kernels.pipeline, [kernels.device.array(a), out])
    assert np.array_equal(out.numpy(), a.reshape(4, 32)[:, ::-1].ravel())


def shuffled(kernels: Kernels, mode: int, operand: int, clamp: int, mask: int = ALL) -> Any:
    out = kernels.device.zeros(64, "int32")
    kernels.device.launch(kernels.shuffle, [out, mode, operand, clamp, mask])
    return out.numpy()[:32], out.numpy()[32:].astype(bool)


@pytest.mark.parametrize(
    ("mode", "operand", "clamp", "from_lane"),
    [
        (XOR, 5, 31, lambda lane: lane ^ 5),
        (UP, 3, 0, lambda lane: lane - 3 if lane >= 3 else None),
        (DOWN, 3, 31, lambda lane: lane + 3 if lane + 3 < 32 else None),
        (INDEX, 9, 31, lambda lane: 9),
        # Segments of 8 lanes.
        (UP, 3, 0x1800, lambda lane: lane - 3 if lane % 8 >= 3 else None),
        (DOWN, 3, 0x181F, lambda lane: lane + 3 if lane % 8 + 3 < 8 else None),
        (INDEX, 13, 0x181F, lambda lane: lane // 8 * 8 + 5),
        (XOR, 12, 0x181F, lambda lane: lane ^ 12 if lane ^ 12 <= lane // 8 * 8 + 7 else None),
    ],
)
def test_shuffles_read_the_lanes_of_the_ptx_isa(
    kernels: Kernels, mode: int, operand: int, clamp: int, from_lane: Any
) -> None:
    values, in_range = shuffled(kernels, mode, operand, clamp)
    for lane in range(32):
        source = from_lane(lane)
        assert in_range[lane] == (source is not None)
        assert values[lane] == (lane if source is None else source)


def test_a_shuffle_from_an_inactive_lane_gives_poison(kernels: Kernels) -> None:
    values, in_range = shuffled(kernels, XOR, 16, 31, mask=0x0003FFFF)
    assert values[:18].tolist() == [16, 17, *[POISON] * 14, 0, 1]
    assert in_range[:18].all()


def test_ended_lanes_are_not_awaited(kernels: Kernels) -> None:
    out = kernels.device.zeros(40, "int32")
    kernels.device.launch(kernels.ballot, [out])
    odd = sum(1 << lane for lane in range(1, 20, 2))
    assert out.numpy().tolist() == [odd] * 24 + [0] * 16
    kernels.device.launch(kernels.ends_early, [out])
    assert out.numpy()[[0, 7, 32, 39]].tolist() == [0xFF] * 4


def test_asynchronous_copies_complete_at_the_wait(kernels: Kernels) -> None:
    a = np.arange(512, dtype=np.float32)
    out = kernels.device.zeros(512, "float32")
    kernels.device.launch(kernels.copy_async, [kernels.device.array(a), out])
    expected = a.reshape(4, 32, 4).copy()
    expected[3, :, 1:] = 0
    assert np.array_equal(out.numpy(), expected.ravel())


@pytest.mark.parametrize("load", [0, 1])
@pytest.mark.parametrize("store", [0, 1])
def test_matrices_are_loaded_and_stored(kernels: Kernels, load: int, store: int) -> None:
    a = np.arange(4 * 8 * 8).astype(np.float16).reshape(4, 8, 8)
    out = kernels.device.zeros((4, 8, 8), "float16")
    kernels.device.launch(kernels.matrices, [kernels.device.array(a), out, load, store])
    assert np.array_equal(out.numpy(), a.swapaxes(1, 2) if load != store else a)


def test_a_tensor_core_matmul_is_correct(kernels: Kernels) -> None:
    a, b = (np.random.default_rng(0).integers(-8, 8, n).astype(np.float16) for n in (2048, 1024))
    a, b = a.reshape(32, 64), b.reshape(64, 16)
    out = kernels.device.zeros((32, 16), "float32")
    kernels.device.launch(
        kernels.matmul_f16, [kernels.device.array(a), kernels.device.array(b), out]
    )
    assert np.array_equal(out.numpy(), a.astype(np.float32) @ b.astype(np.float32))


Index = tuple[int, int]


def a_places(lane: int, rows: int, packed: int, count: int) -> list[Index]:
    """The rows and columns of A in a lane, as in PTX's figures of fragments."""
    group, place = divmod(lane, 4)
    words = [(row, block) for block in range(8) for row in range(0, rows, 8)]
    return [
        (group + row, (block * 4 + place) * packed + i)
        for row, block in words
        for i in range(packed)
    ][:count]


def b_places(lane: int, packed: int, count: int) -> list[Index]:
    group, place = divmod(lane, 4)
    return [((block * 4 + place) * packed + i, group) for block in range(8) for i in range(packed)][
        :count
    ]


def c_places(lane: int, rows: int) -> list[Index]:
    group, place = divmod(lane, 4)
    return [(group + row, 2 * place + i) for row in range(0, rows, 8) for i in (0, 1)]


BF16, F16 = ml_dtypes.bfloat16, np.float16
KINDS = [
    (0, 16, 16, F16, np.float32),
    (1, 16, 16, F16, F16),
    (2, 16, 16, BF16, np.float32),
    (3, 16, 8, F16, np.float32),
    (4, 16, 8, F16, F16),
    (5, 16, 8, BF16, np.float32),
    (6, 16, 8, np.float32, np.float32),
    (7, 16, 4, np.float32, np.float32),
    (8, 16, 32, np.int8, np.int32),
    (9, 16, 16, np.int8, np.int32),
    (10, 8, 4, np.float64, np.float64),
]


@pytest.mark.parametrize(("kind", "rows", "inner", "factor", "sum_type"), KINDS)
def test_every_kind_of_mma_multiplies_fragments_of_its_layout(
    kernels: Kernels, kind: int, rows: int, inner: int, factor: Any, sum_type: Any
) -> None:
    rng = np.random.default_rng(kind)
    a = rng.integers(-9, 9, (rows, inner)).astype(factor)
    b = rng.integers(-9, 9, (inner, 8)).astype(factor)
    c = rng.integers(-99, 99, (rows, 8)).astype(sum_type)
    packed = max(1, 4 // np.dtype(factor).itemsize)
    counts = rows * inner // 32, inner * 8 // 32
    lanes = range(32)
    parts = [
        np.array([[a[at] for at in a_places(lane, rows, packed, counts[0])] for lane in lanes]),
        np.array([[b[at] for at in b_places(lane, packed, counts[1])] for lane in lanes]),
        np.array([[c[at] for at in c_places(lane, rows)] for lane in lanes]),
    ]
    device = kernels.device
    out = device.zeros(parts[2].shape, parts[2].dtype)
    sizes = [part.nbytes // 32 for part in parts]
    device.launch(kernels.mma, [*map(device.array, parts), out, kind, *sizes])
    wide = [array.astype(np.float64) for array in (a, b, c)]
    expected = (wide[0] @ wide[1] + wide[2]).astype(sum_type)
    assert np.array_equal(
        out.numpy(), [[expected[at] for at in c_places(lane, rows)] for lane in lanes]
    )


def test_tf32_ignores_the_low_bits(kernels: Kernels) -> None:
    a = np.full((32, 4), 1 + 2**-11, np.float32)  # 13 bits of the mantissa are ignored
    b, c = np.ones((32, 2), np.float32), np.zeros((32, 4), np.float32)
    device = kernels.device
    out = device.zeros((32, 4), "float32")
    device.launch(kernels.mma, [*map(device.array, (a, b, c)), out, 6, 16, 8, 16])
    assert (out.numpy() == 8).all()


def test_float16_of_every_class_is_read_exactly(kernels: Kernels) -> None:
    values = np.array([6e-8, -65504, 1e-5, np.inf, np.nan, -0.0, 2**-14, 1], F16)
    device = kernels.device
    for value in values:
        a, b = np.zeros((32, 8), F16), np.ones((32, 4), F16)
        a[0, 0] = value  # row 0, column 0
        c, out = device.zeros((32, 4), "float32"), device.zeros((32, 4), "float32")
        device.launch(kernels.mma, [device.array(a), device.array(b), c, out, 0, 16, 8, 16])
        np.testing.assert_array_equal(out.numpy()[0, 0], np.float32(value))


@pytest.mark.parametrize("scale", [1.0, 1e-6, 3000.0])
def test_float16_accumulators_are_rounded_once(kernels: Kernels, scale: float) -> None:
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((16, 16)).astype(F16), rng.standard_normal((16, 8)).astype(F16)
    with np.errstate(over="ignore"):
        c = (rng.standard_normal((16, 8)) * scale * 10).astype(F16)
        a = (a * F16(scale)).astype(F16)
    device, lanes = kernels.device, range(32)
    parts = [
        np.array([[a[at] for at in a_places(lane, 16, 2, 8)] for lane in lanes]),
        np.array([[b[at] for at in b_places(lane, 2, 4)] for lane in lanes]),
        np.array([[c[at] for at in c_places(lane, 16)] for lane in lanes]),
    ]
    out = device.zeros((32, 4), "float16")
    device.launch(kernels.mma, [*map(device.array, parts), out, 1, 16, 8, 8])
    with np.errstate(over="ignore"):
        sums = (a.astype(np.float64) @ b.astype(np.float64) + c.astype(np.float64)).astype(F16)
    expected = [[sums[at] for at in c_places(lane, 16)] for lane in lanes]
    np.testing.assert_array_equal(out.numpy(), expected)
