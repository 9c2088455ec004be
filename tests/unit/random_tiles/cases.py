# SPDX-License-Identifier: Apache-2.0
"""Random cases, several of which share a kernel, because compiling is expensive and a case is
cheap."""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from tests.unit.random_tiles import elementwise, exchanges
from tests.unit.random_tiles.dots import dot_case
from tests.unit.random_tiles.inputs import load
from tests.unit.random_tiles.writer import NUMPY, Array, Env, Tile, Writer

_ROUGH = 0.2  # share of all cases
HEAD = f"""# A random kernel.
from xtc import tile
from xtc.tile import void_p, {", ".join(NUMPY)}


class Random(tile.Script):
    def __call__(
        self, case: int32, m: int32, n: int32, k: int32, gx: int32, gy: int32,
        a_ptr: void_p, b_ptr: void_p, c_ptr: void_p,
    ):
        self.attrs.blocks = [gx, gy]
        self.attrs.warps = {{warps}}
"""


@dataclass
class Case:
    """One case of a kernel.

    Attributes:
        arguments: of the kernel, the last of them the array that it writes.
        expected: what that should hold then.
        text: of the case.
        exact: whether it has to; else only interpreter and simulator are the same.
    """

    arguments: list[Any]
    expected: Array
    text: str
    exact: bool = True


@dataclass
class Batch:
    """A kernel, and the cases in it."""

    program: Any
    cases: list[Case]


def tile_case(w: Writer) -> Case:
    """Two inputs, random lines, and one output."""
    rng = w.rng
    rows, columns = _shape(w)
    m, n = rng.randint(1, 2 * rows), rng.randint(1, 2 * columns)
    blocks = -(-m // rows), -(-n // columns)
    k = rng.randint(0, 4)
    arrays = [load(w, pointer, (m, n), (rows, columns)) for pointer in ("a_ptr", "b_ptr")]
    for _ in range(rng.randint(1, 6)):
        rng.choice((*elementwise.STEPS, *exchanges.STEPS))(w)
    last = w.tiles[-1] if rng.random() < 0.7 else rng.choice(w.tiles)
    out = _stored(w, last, blocks)

    def block(bx: int, by: int) -> Array:
        env: Env = {"bx": bx, "by": by, "k": k, "a_ptr": arrays[0], "b_ptr": arrays[1]}
        for step in w.steps:
            step(env)
        found: Array = env[last.name]
        return found

    return _finished(w, block, last, out, (m, n, k, *blocks), arrays)


def _shape(w: Writer) -> tuple[int, int]:
    while True:
        rows = w.rng.choice((1, 2, 3, 4, 8, 16, 24, 32))
        columns = w.rng.choice((1, 2, 3, 5, 8, 16, 32, 40, 64))
        if w.fits((2 * rows, columns)):
            return rows, columns


def _stored(w: Writer, last: Tile, blocks: tuple[int, int]) -> tuple[int, int]:
    """Write lines that store a tile as 2 dimensions, beside those of other blocks; the whole size,
    of which a part of the last block's tile may be cut off."""
    rows, columns = prod(last.shape[:-1]), last.shape[-1]
    size = (
        blocks[0] * rows - w.rng.randrange(rows),
        blocks[1] * columns - w.rng.randrange(columns),
    )
    strides = w.rng.choice(("", f", strides=[1, {size[0]}]"))
    name = last.name
    if len(last.shape) != 2:
        name = f"self.reshape({name}, [{rows}, {columns}])"
    w.line(
        f"c = self.global_view(c_ptr, dtype={last.dtype}, shape={list(size)}{strides})",
        f"self.store_global(c, {name}, "
        f"offsets=[self.blockIdx.x * {rows}, self.blockIdx.y * {columns}])",
    )
    return (*size, bool(strides))  # type: ignore[return-value]


def _finished(
    w: Writer,
    block: Callable[[int, int], Array],
    last: Tile,
    out: Any,
    numbers: tuple[int, ...],
    arrays: list[Array],
) -> Case:
    m, n, k, gx, gy = numbers
    rows, columns = prod(last.shape[:-1]), last.shape[-1]
    whole = np.zeros((gx * rows, gy * columns), NUMPY[last.dtype])
    for bx in range(gx):
        for by in range(gy):
            part = block(bx, by).reshape(rows, columns)
            whole[bx * rows : (bx + 1) * rows, by * columns : (by + 1) * columns] = part
    expected = whole[: out[0], : out[1]]
    expected = np.ascontiguousarray(expected.T if out[2] else expected)
    arguments = [m, n, k, gx, gy, *arrays, np.zeros_like(expected)]
    return Case(arguments, expected, "\n        ".join(w.lines), not w.rough)


def batch(seed: int, count: int, folder: Path) -> Batch:
    """A kernel with a number of cases. In most of them, every order of a sum is exact."""
    rng = random.Random(seed)  # noqa: S311
    warps = rng.choice((1, 2, 4))
    cases = []
    for _ in range(count):
        make = dot_case if rng.random() < 0.15 else tile_case
        cases.append(make(Writer(rng, warps, rough=rng.random() < _ROUGH)))
    text = HEAD.format(warps=warps)
    for number in range(count):
        text += f"        if case == {number}:\n"
        text += f"            self.case_{number}(m, n, k, a_ptr, b_ptr, c_ptr)\n"
    for number, case in enumerate(cases):
        case.arguments.insert(0, number)
        text += f"\n    def case_{number}(self, m, n, k, a_ptr, b_ptr, c_ptr):\n        "
        text += case.text + "\n"
    return Batch(_loaded(text, folder / f"random_{seed}.py"), cases)


def _loaded(text: str, path: Path) -> Any:
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Random()
