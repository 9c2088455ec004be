# SPDX-License-Identifier: Apache-2.0
"""Writes the lines of a random kernel, with the equivalent NumPy code for one block."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf, prod
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]
Env = dict[str, Any]
"""Of one block: tiles by their names, its position as `bx` and `by`, and arguments."""

NUMPY = MappingProxyType(
    {
        "float16": np.dtype(np.float16),
        "bfloat16": np.dtype(ml_dtypes.bfloat16),
        "float32": np.dtype(np.float32),
        "float64": np.dtype(np.float64),
        "boolean": np.dtype(np.bool_),
        **{
            f"{sign}int{bits}": np.dtype(f"{sign}int{bits}")
            for sign in ("", "u")
            for bits in (8, 16, 32, 64)
        },
    }
)
FLOATS = ("float16", "bfloat16", "float32", "float64")
INTS = tuple(name for name in NUMPY if "int" in name)
EXACT = MappingProxyType({"float16": 2**11, "bfloat16": 2**8, "float32": 2**24, "float64": 2**53})
"""Up to what size a float type has every whole number."""


def limit(dtype: str) -> int:
    """The largest magnitude up to which a type represents every whole number."""
    if dtype in EXACT:
        return EXACT[dtype]
    return 1 if dtype == "boolean" else int(np.iinfo(NUMPY[dtype]).max)


@dataclass(frozen=True)
class Tile:
    """A register tile of a kernel.

    Attributes:
        most: no element is larger, in size; inf where that is not known.
        whole: whether elements are whole numbers.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    most: float = inf
    whole: bool = False

    @property
    def is_float(self) -> bool:
        return self.dtype in EXACT

    @property
    def is_int(self) -> bool:
        return self.dtype in INTS


@dataclass
class Writer:
    """The body of a kernel.

    Attributes:
        rough: whether inputs are fractions, and sums depend on their order.
        lines: of its text.
        steps: for each line that makes a tile, what NumPy does.
        tiles: those that further lines may use.
    """

    rng: random.Random
    warps: int
    rough: bool = False
    lines: list[str] = field(default_factory=list)
    steps: list[Callable[[Env], None]] = field(default_factory=list)
    tiles: list[Tile] = field(default_factory=list)
    _names: int = 0

    @property
    def threads(self) -> int:
        return 32 * self.warps

    def name(self, prefix: str) -> str:
        """An unused name."""
        self._names += 1
        return f"{prefix}{self._names}"

    def line(self, *texts: str) -> None:
        """Append lines that create no tile."""
        self.lines += texts

    def new(
        self,
        text: str,
        shape: Sequence[int],
        dtype: str,
        function: Callable[[Env], Any],
        most: float = inf,
        whole: bool = False,
    ) -> Tile:
        """Append a line that creates a tile: `text` with `{}` for its name, or an expression."""
        if dtype == "boolean":
            most, whole = 1, True
        if dtype in INTS:
            whole, most = True, min(most, float(limit(dtype)) + 1)
        tile = Tile(self.name("t"), tuple(shape), dtype, most, whole)
        self.lines.append(text.format(tile.name) if "{}" in text else f"{tile.name} = {text}")

        def step(env: Env) -> None:
            with np.errstate(all="ignore"):
                made = np.asarray(function(env))
                assert made.shape == tile.shape, (text, made.shape, tile.shape)
                env[tile.name] = made.astype(NUMPY[dtype])

        self.steps.append(step)
        self.tiles.append(tile)
        return tile

    def pick(self, accept: Callable[[Tile], bool] = lambda _: True) -> Tile | None:
        """A suitable tile, recent ones more often; None if there is none."""
        found = [tile for tile in self.tiles if accept(tile)]
        if not found:
            return None
        last = found[-3:]
        return self.rng.choice(last if self.rng.random() < 0.7 else found)

    def numbers(self, size: tuple[int, int], dtype: str, most: int) -> Array:
        """An input: whole numbers up to a bound, or fractions."""
        low, count = 0 if dtype.startswith("u") else -most, size[0] * size[1]
        if self.rough and dtype in EXACT:
            values = np.array([self.rng.gauss(0, most) for _ in range(count)])
        else:
            values = np.array([self.rng.randint(low, most) for _ in range(count)])
        return values.reshape(size).astype(NUMPY[dtype])

    def fits(self, shape: Sequence[int]) -> bool:
        """Whether a thread holds few elements of a tile."""
        return prod(shape) <= 4 * self.threads

    def other(self, tile: Tile) -> Tile:
        """A tile of the same type that can be broadcast with another; possibly the same tile."""

        def fits(it: Tile) -> bool:
            return it.dtype == tile.dtype and _broadcast(it.shape, tile.shape)

        return self.pick(fits) or tile

    def bounded(self, tile: Tile, most: int) -> Tile:
        """The tile with whole numbers up to a bound; needs known or whole elements."""
        if tile.whole and tile.most <= most:
            return tile
        low = 0 if tile.dtype.startswith("u") else -most
        text, x = tile.name, tile.name
        if tile.is_float and not tile.whole:
            text = f"self.round({x})"
        return self.new(
            f"self.clip({text}, {low}, {most})",
            tile.shape,
            tile.dtype,
            lambda env: np.minimum(
                np.maximum(np.rint(env[x]) if tile.is_float else env[x], low), most
            ),
            most,
            True,
        )


def _broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether a tile of one shape can be broadcast to the other shape, that of the result."""
    return len(a) <= len(b) and all(
        m in (1, n) for m, n in zip(reversed(a), reversed(b), strict=False)
    )
