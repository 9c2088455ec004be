# SPDX-License-Identifier: Apache-2.0
"""Random kernels whose names refer to equal or different tiles, like names of NumPy arrays."""

from __future__ import annotations

import importlib.util
import random
import re
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
NAMES = "abcd"
KERNEL = """
from xtc import tile
from xtc.tile import float32, int32


class Kernel(tile.Script):
    def __call__(self, n: int32, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks = 1
        self.attrs.warps = 1
        gx = self.global_view(x_ptr, dtype=float32, shape=[4, 8])
        gy = self.global_view(y_ptr, dtype=float32, shape=[4, 8])
        a = self.load_global(gx, offsets=[0, 0], shape=[8], dims=[1])
        b = self.load_global(gx, offsets=[1, 0], shape=[8], dims=[1])
        c = self.load_global(gx, offsets=[2, 0], shape=[8], dims=[1])
        d = self.load_global(gx, offsets=[3, 0], shape=[8], dims=[1])
        p = (a, b)
        k: int32 = 0
{body}
        for at, t in enumerate([a, b, c, d]):
            self.store_global(gy, t, offsets=[at, 0], dims=[1])
"""


def statements(rng: random.Random, depth: int) -> list[str]:
    """Lines that assign names and update tiles, with branches and loops of this depth."""
    lines: list[str] = []
    for _ in range(rng.randint(2, 4)):
        x, y, z = rng.sample(NAMES, 3)
        simple = [
            f"{x} = {y}",
            f"{x} = {y} + {z}",
            f"{x} += {y}",
            f"{x} += {x}",
            f"self.assign({x}, {y})",
        ]
        simple += [f"{x}, {y} = {y}, {x}", f"p = ({x}, {y})", f"{x}, {y} = p", f"{x} = {y} * 2.0"]
        kind = rng.random() if depth else 0.0
        inner = ["    " + line for line in statements(rng, depth - 1)] if kind > 0.7 else []
        if kind <= 0.7:
            lines.append(rng.choice(simple))
        elif kind <= 0.87:
            condition = rng.choice(["k % 2 == 0", "n > 2", "n == 3", "n < 0"])
            others = ["    " + line for line in statements(rng, depth - 1)]
            lines += [f"if {condition}:", *inner, "else:", *others]
        else:
            items = rng.choice(["range(n)", "range(2)", "[1, 4]", "self.range(2, unroll='all')"])
            leave = rng.choice(["break", "continue", "pass"])
            body = [*inner, f"    if n > 2: {leave}", f"    {x} += {y}"]
            lines += [f"for k in {items}:", *body, "k = 1"]
    return lines


class _Python:
    """Replaces `self` when Python runs the lines."""

    def range(self, count: int, unroll: str) -> Any:
        assert unroll
        return range(count)

    def assign(self, target: Array, source: Array) -> None:
        target[...] = source


def _copied(before: Array, value: Array) -> Array:
    """The new value of a name that referred to an array before."""
    return before if value is before else value.copy()


def aliased(seed: int, folder: Path) -> tuple[Any, list[str]]:
    """A kernel that takes n, x and y, and its lines."""
    lines = statements(random.Random(seed), 2)  # noqa: S311
    path = folder / f"aliases_{seed}.py"
    path.write_text(KERNEL.format(body="\n".join(" " * 8 + line for line in lines)))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Kernel(), lines


def in_python(lines: list[str], n: int, x: Array) -> Array:
    """The final contents of NumPy arrays with these names; assignment to a tile's name copies."""
    names: dict[str, Any] = {"self": _Python(), "copied": _copied, "n": n, "k": 0}
    names |= {name: x[at].copy() for at, name in enumerate(NAMES)}
    names["p"] = (names["a"], names["b"])
    pair = r"^( *)(([a-d]), ([a-d])) = (.*)$"
    text = re.sub(r"^( *)([a-d]) = ([a-d])$", r"\1\2 = \3.copy()", "\n".join(lines), flags=re.M)
    text = re.sub(pair, r"\1\2 = map(copied, (\2), (\5))", text, flags=re.M)
    exec(text, names)  # noqa: S102
    return np.stack([names[name] for name in NAMES])
