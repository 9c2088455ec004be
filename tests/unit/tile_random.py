# SPDX-License-Identifier: Apache-2.0
"""Random tile kernels as source text, with what NumPy computes for each."""

from __future__ import annotations

import importlib.util
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

SIZES = (1, 2, 3, 8, 16, 24, 32, 48, 64)
DTYPES = {"float32": np.float32, "int32": np.int32, "float16": np.float16}
HEAD = """from xtc import tile
from xtc.tile import float16, float32, int16, int32, uint32


class Random(tile.Script):
    def __call__(self, m: int32, n: {n_kind}, a_ptr: ~{dtype}, b_ptr: ~{dtype}, c_ptr: ~{dtype}):
        self.attrs.blocks = [self.utils.cdiv(m, {rows}), self.utils.cdiv(n, {columns})]
        self.attrs.warps = {warps}
        row, column = {rows} * self.blockIdx.x, {columns} * self.blockIdx.y
        a = self.global_view(a_ptr, dtype={dtype}, shape=[m, n])
        b = self.global_view(b_ptr, dtype={dtype}, shape=[m, n])
        c = self.global_view(c_ptr, dtype={dtype}, shape=[m, n])
        s = self.shared_tensor(dtype={dtype}, shape=[{rows}, {columns}])
        self.copy_async(b, s, offsets=[row, column])
        x = self.load_global(a, offsets=[row, column], shape=[{rows}, {columns}])
        self.copy_async_wait_all()
        self.sync()
        y = self.load_shared(s)
"""


@dataclass
class Step:
    """A line of a kernel, and the same for an array of NumPy."""

    line: str
    numpy: Any


def step(rng: random.Random, rows: int, columns: int, warps: int, dtype: str) -> Step:
    """A line that changes x, which is rows x columns, with the help of y."""
    number = rng.randint(1, 3)
    square = rows == columns
    choices = [
        Step("x = x + y", lambda x, y: x + y),
        Step("x = self.maximum(x, y)", np.maximum),
        Step(
            f"x = self.where(x < y, x, y - {number})", lambda x, y: np.where(x < y, x, y - number)
        ),
        Step("x = x - self.max(x, dim=1, keepdim=True)", lambda x, y: x - x.max(1, keepdims=True)),
        Step("x = self.min(y, dim=0, keepdim=True) + x", lambda x, y: y.min(0, keepdims=True) + x),
        Step(
            "x = x + self.cast(self.register_tensor(dtype=int32, "
            f"shape=[{rows}, {columns}], init=lambda i, j: i * 2 - j), {dtype})",
            lambda x, y: x + (np.indices(x.shape)[0] * 2 - np.indices(x.shape)[1]).astype(x.dtype),
        ),
        Step(
            f"for u in range({number}): x = x + y * u",
            lambda x, y: x + sum((y * x.dtype.type(u) for u in range(number)), y * x.dtype.type(0)),
        ),
        Step("x = self.transpose(self.transpose(x) + self.transpose(y))", lambda x, y: x + y),
        Step(
            "self.sync(); self.store_shared(s, x); self.sync(); "
            f"x = self.load_shared(s) * {number}",
            lambda x, y: x * x.dtype.type(number),
        ),
        Step(
            f"x = self.repeat(self.min(x, dim=0, keepdim=True), [{rows}, 1])",
            lambda x, y: np.tile(x.min(0, keepdims=True), (rows, 1)),
        ),
    ]
    choices += exact_steps(rng, rows, columns, dtype)
    if square:
        choices.append(Step("x = self.transpose(x) + y", lambda x, y: x.T + y))
    if rows % 8 == 0 and columns % (4 * warps) == 0:
        layout = f"tile.layout.local({rows // 8}, {columns // (4 * warps)})"
        layout += f" * tile.layout.spatial(8, {4 * warps})"
        choices.append(Step(f"self.annotate_layout(x, {layout})", lambda x, y: x))
    return rng.choice(choices)


def exact_steps(rng: random.Random, rows: int, columns: int, dtype: str) -> list[Step]:
    """Scans, other shapes and other views of x, which bring no number that was not there.

    Integers have exact sums of any length besides.
    """
    dim, largest = rng.randrange(2), rng.randint(1, 9)
    bits = {"float32": "int32", "int32": "uint32", "float16": "int16"}[dtype]
    choices = [
        Step(f'x = self.scan(x, dim={dim}, op="max")', lambda x, y: np.maximum.accumulate(x, dim)),
        Step(f'x = self.scan(x, dim={dim}, op="min")', lambda x, y: np.minimum.accumulate(x, dim)),
        Step(f"x = self.reshape(self.flatten(x), [{rows}, {columns}])", lambda x, y: x),
        Step(f"x = self.view(self.view(x, dtype={bits}), dtype={dtype})", lambda x, y: x),
        Step(
            f"x = self.clip(x, -{largest}, {largest})",
            lambda x, y: np.clip(x, -largest, largest),
        ),
    ]
    if not (rows & (rows - 1) or columns & (columns - 1)):  # others may not divide among threads
        line = f"x = self.transpose(self.reshape(x, [{columns}, {rows}]))"
        choices.append(Step(line, lambda x, y: x.reshape(columns, rows).T))
    if dtype == "int32":
        choices += [
            Step(
                f"x = self.cumsum(x, dim={dim}, exclusive=True)",
                lambda x, y: (np.cumsum(x, dim) - x).astype(x.dtype),
            ),
            Step(
                "self.sync(); self.store_shared(s, x); self.sync(); "
                "self.atomic.shared_add(s, y); self.sync(); x = self.load_shared(s)",
                lambda x, y: x + y,
            ),
        ]
    return choices


@dataclass
class RandomKernel:
    """A kernel, its arguments, and what the last of them should hold."""

    program: Any
    arguments: list[Any]
    expected: np.ndarray[Any, Any]
    text: str


def padded(array: np.ndarray[Any, Any], rows: int, columns: int) -> np.ndarray[Any, Any]:
    m, n = array.shape
    return np.pad(array, ((0, -m % rows), (0, -n % columns)))


def random_kernel(seed: int, folder: Path) -> RandomKernel:
    """The kernel of a seed. Values are small integers, so that every order of a sum is exact."""
    rng = random.Random(seed)  # noqa: S311
    rows, columns = rng.choice(SIZES), rng.choice(SIZES)
    warps, dtype = rng.choice((1, 2, 4)), rng.choice(list(DTYPES))
    m, n = rng.randint(1, 2 * rows), rng.randint(1, 2 * columns)
    steps = [step(rng, rows, columns, warps, dtype) for _ in range(rng.randint(1, 5))]
    head = HEAD.format(
        rows=rows, columns=columns, warps=warps, dtype=dtype, n_kind=rng.choice(("int", "int32"))
    )
    body = [f"        {s.line}" for s in steps]
    body.append("        self.store_global(c, x, offsets=[row, column])")
    text = head + "\n".join(body).replace("; ", "\n        ") + "\n"
    path = folder / f"random_{seed}.py"
    path.write_text(text)
    numpy = np.random.default_rng(seed)
    a, b = (numpy.integers(-4, 5, (m, n)).astype(DTYPES[dtype]) for _ in range(2))
    wide_a, wide_b = padded(a, rows, columns), padded(b, rows, columns)
    result = np.zeros_like(wide_a)
    for i in range(0, wide_a.shape[0], rows):
        for j in range(0, wide_a.shape[1], columns):
            x, y = (w[i : i + rows, j : j + columns] for w in (wide_a, wide_b))
            for each in steps:
                x = each.numpy(x, y)
            result[i : i + rows, j : j + columns] = x
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return RandomKernel(
        module.Random(), [m, n, a, b, np.zeros((m, n), a.dtype)], result[:m, :n], text
    )
