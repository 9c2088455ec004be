# SPDX-License-Identifier: Apache-2.0
"""Device code agrees with NumPy: from LLVM and from C, with PEs in any order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from tests.unit.mppa_code_support import KERNELS, Array, run

pytestmark = pytest.mark.usefixtures("collected")


@dataclass(frozen=True)
class Case:
    """A kernel, the shapes and types of its arguments, and their expected values after the run."""

    file: str
    kernel: str
    shapes: tuple[tuple[int, ...], ...]
    expected: Callable[..., tuple[Array, ...]]
    dtypes: tuple[str, ...] = ("float32",)

    def arrays(self) -> list[Array]:
        random = np.random.default_rng(len(self.kernel))
        types = self.dtypes * len(self.shapes) if len(self.dtypes) == 1 else self.dtypes
        return [
            random.integers(-8, 8, shape).astype(dtype)
            for shape, dtype in zip(self.shapes, types, strict=True)
        ]

    def check(self, **how: Any) -> None:
        arrays = self.arrays()
        found = run((KERNELS / f"{self.file}.mlir").read_text(), self.kernel, arrays, **how).arrays
        expected = self.expected(*arrays)
        for mine, theirs in zip(found[-len(expected) :], expected, strict=True):
            assert np.array_equal(mine, theirs)


def matmul(a: Array, b: Array, c: Array) -> tuple[Array, ...]:
    return (np.matmul(a.astype(c.dtype), b.astype(c.dtype)) + c,)


def convolution(x: Array, k: Array, _: Array) -> tuple[Array, ...]:
    """Channels last."""
    views = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(1, 2))
    return (np.einsum("nhwcij,ijcf->nhwf", views, k),)


def first(x: Array, k: Array, y: Array) -> tuple[Array, ...]:
    """Channels first."""
    (last,) = convolution(x.transpose(0, 2, 3, 1), k.transpose(2, 3, 1, 0), y)
    return (last.transpose(0, 3, 1, 2),)


def sums(a: Array, _s: Array, _d: Array) -> tuple[Array, ...]:
    total = a.sum(axis=1)
    return total, 2 * total.reshape(5, 4)[:, ::-1].reshape(20)


def within(a: Array, b: Array) -> tuple[Array, ...]:
    result = b.copy()
    result[:4] = a[2:6]
    return (result,)


MATRICES = ((7, 9), (9, 21), (7, 21))
CASES = [
    Case(
        "matmul_k_loop",
        "mm_mppa0_0",
        ((96, 64), (64, 64), (96, 64)),
        lambda a, b, c: matmul(a, b, 0 * c),
    ),
    Case("elementwise_tails", "tails", ((1003,),) * 3, lambda a, b, _: (a * b + a,)),
    Case("row_sums", "sums_mppa0_0", ((20, 96), (20,), (20,)), sums),
    Case(
        "convolution",
        "channels_last",
        ((2, 10, 12, 8), (3, 3, 8, 20), (2, 8, 10, 20)),
        convolution,
    ),
    Case("convolution", "channels_first", ((2, 8, 10, 12), (20, 8, 3, 3), (2, 20, 8, 10)), first),
    Case("copies", "every_third", ((90,), (30,)), lambda a, _: (a[1::3],), ("int16",)),
    Case(
        "copies",
        "corner",
        ((4, 5, 6, 7), (2, 3, 2, 5)),
        lambda a, _: (a[1:3, 2:5, 3:5, 1:6],),
        ("int8",),
    ),
    Case("copies", "slabs", ((2, 10, 7), (2, 10, 3)), lambda a, _: (a[:, :, 2:5],), ("int16",)),
    Case("copies", "within_ddr", ((8, 8), (8, 8)), within, ("float64",)),
    Case("products", "halves", MATRICES, matmul, ("float16", "float16", "float32")),
    Case("products", "bytes", MATRICES, matmul, ("int8", "int8", "int32")),
    Case("products", "doubles", MATRICES, matmul, ("float64",)),
    Case("products", "transposed", ((7, 9), (21, 9), (7, 21)), lambda a, b, c: matmul(a, b.T, c)),
    Case("products", "batches", ((3, 7, 9), (3, 9, 21), (3, 7, 21)), matmul),
]
HOW: dict[str, dict[str, Any]] = {
    "deferred": {"config": {"dma_mode": "deferred"}},
    "shuffled, 2 clusters of 3": {
        "config": {
            "dma_mode": "deferred",
            "sim_schedule": "shuffled",
            "seed": 7,
            "clusters": 2,
            "pes": 3,
        }
    },
    "one PE, no overlap": {"config": {"clusters": 1, "pes": 1}, "double_buffer": False},
    "by C": {"config": {"dma_mode": "deferred"}, "codegen": "c", "opt_level": 2},
}


PAIRS = [
    pytest.param(case, how, id=f"{case.kernel}-{how}")
    for number, case in enumerate(CASES)
    for position, how in enumerate(HOW)
    if settings().max_examples > 100 or (number + position) % 2 == 0
]
"""All of them in a long run, else half: every case in two ways."""


@pytest.mark.slow
@pytest.mark.parametrize(("case", "how"), PAIRS)
def test_results_agree_with_numpy(case: Case, how: str) -> None:
    case.check(**HOW[how])
