# SPDX-License-Identifier: Apache-2.0
"""Cases of tile kernels that several tests run: examples, and plain loops that become pipelines."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.unit import tile_pipelines
from xtc.tile import float16, float32, int32
from xtc.tile.launch.compiled import Kernel
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

FOLDER = Path(__file__).parents[2] / "examples" / "tile"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in ("__init__", "show"))
RNG = np.random.default_rng(0)


@dataclass
class Case:
    """A kernel, what it is called with, the array that it writes, and what that has to hold."""

    program: Any
    arguments: tuple[Any, ...]
    result: np.ndarray[Any, Any]
    expected: np.ndarray[Any, Any]

    def kernel(self, **options: Any) -> Kernel:
        """The kernel, compiled for a GPU with these options."""
        values = self.program._bound(self.arguments, {}, arrays=False)
        kernel: Kernel = self.program._pick(values, NvgpuDevice(NvgpuOptions(**options)))
        return kernel

    def agrees(self, run: Any) -> Any:
        """Run the kernel, and compare."""
        self.result[...] = -1
        report = run(*self.arguments)
        np.testing.assert_array_equal(self.result, self.expected)
        return report


def matmul(m: int, n: int, k: int, cls: Any = tile_pipelines.Matmul, **how: Any) -> Case:
    dtype = how.get("dtype", float16)
    total = float32 if dtype.is_float() else int32
    stored = how.get("stored") or total
    kind = dtype.numpy
    least = 0 if kind == np.uint8 else -4
    a, b = (RNG.integers(least, 5, shape).astype(kind) for shape in ((m, k), (k, n)))
    c = np.zeros((m, n), stored.numpy)
    transposed = how.get("transposed", "")
    given_a = np.ascontiguousarray(a.T) if "a" in transposed else a
    given_b = np.ascontiguousarray(b.T) if "b" in transposed else b
    expected = (a.astype(total.numpy) @ b.astype(total.numpy)).astype(c.dtype)
    return Case(cls(**how), (m, n, k, given_a, given_b, c), c, expected)


def batched() -> Case:
    count, m, k, n = 2, 70, 136, 136
    a, b = (RNG.integers(-4, 5, (count, *s)).astype(np.float16) for s in ((m, k), (k, n)))
    bias, c = RNG.integers(-9, 9, n).astype(np.float32), np.zeros((count, m, n), np.float16)
    expected = np.maximum(a.astype(np.float32) @ b.astype(np.float32) + bias, 0)
    return Case(tile_pipelines.Batched(), (count, m, k, n, a, b, bias, c), c, expected)
