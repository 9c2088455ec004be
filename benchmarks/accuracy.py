# SPDX-License-Identifier: Apache-2.0
"""Errors of functions and of long sums, in units of the last place, for both code generators.

`make bench-accuracy` prints the tables of docs/accuracy.md. The reference is the graph evaluated in
float64, as for `module.check()`; a unit is the distance between float32 numbers at the reference.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

import xtc
import xtc.ops as O
from xtc.graph.tensor import Tensor

Array = np.ndarray[Any, Any]
Write = Callable[[Tensor], Tensor]

GENERATORS = ("llvm", "c")
VALUES = 1 << 20
LONG = 1 << 25
_LEAST_NORMAL = float(np.finfo(np.float32).smallest_normal)

ANY, ABOVE_ZERO, WITHIN_ONE, FROM_ONE = (-100, 100), (1e-30, 1e30), (-1, 1), (1, 1e6)
FUNCTIONS: dict[str, tuple[Write, tuple[float, float]]] = {
    "exp": (O.exp, (-87, 88)),
    "log": (O.log, ABOVE_ZERO),
    "sqrt": (O.sqrt, ABOVE_ZERO),
    "rsqrt": (O.rsqrt, ABOVE_ZERO),
    "sigmoid": (O.sigmoid, (-80, 80)),
    "silu": (O.silu, (-80, 80)),
    "tanh": (O.tanh, ANY),
    "erf": (O.erf, ANY),
    "gelu": (O.gelu, (-12, 100)),
    "gelu, tanh": (lambda x: O.gelu(x, approximate="tanh"), (-3, 100)),
    "sin": (O.sin, ANY),
    "cos": (O.cos, ANY),
    "tan": (O.tan, ANY),
    "sinh": (O.sinh, (-80, 80)),
    "cosh": (O.cosh, (-80, 80)),
    "asin": (O.asin, WITHIN_ONE),
    "acos": (O.acos, WITHIN_ONE),
    "atan": (O.atan, ANY),
    "asinh": (O.asinh, ANY),
    "acosh": (O.acosh, FROM_ONE),
    "atanh": (O.atanh, (-0.9999, 0.9999)),
}
SUMS: dict[str, tuple[Write, tuple[int, ...]]] = {
    "reduce_mean, of all": (O.reduce_mean, (LONG,)),
    "reduce_mean, of two axes": (O.reduce_mean, (LONG >> 12, 1 << 12)),
    "reduce_mean, along rows": (lambda x: O.reduce_mean(x, axes=1), (4, LONG >> 2)),
    "reduce_mean, across rows": (lambda x: O.reduce_mean(x, axes=0), (LONG >> 4, 1 << 4)),
    "softmax": (O.softmax, (1, LONG)),
    "layer_norm": (O.layer_norm, (4, LONG >> 2)),
    "matmul": (lambda x: O.matmul(x, O.reshape(x, (x.type.sizes[1], 4))), (4, LONG >> 2)),
}


def arguments(domain: tuple[float, float], count: int) -> Array:
    """Numbers of the domain: half uniform, half with a uniform exponent."""
    low, high = domain
    rng = np.random.default_rng(1)
    most = max(abs(low), abs(high))
    least = low if low > 0 else 1e-6
    sizes = np.exp(rng.uniform(np.log(least), np.log(most), count - count // 2))
    signs = rng.choice([-1, 1], sizes.shape) if low < 0 else 1
    spread = np.concatenate([rng.uniform(low, high, count // 2), sizes * signs])
    values: Array = np.clip(spread, low, high).astype(np.float32)
    return values


def errors(write: Write, x: Array, codegen: str) -> tuple[Array, Array]:
    """Absolute errors, and the units in the last place of the reference, where that is normal."""
    with O.graph(name="accuracy") as gb:
        write(O.tensor(x.shape, name="x"))
    with xtc.compile(gb.graph, codegen=codegen) as module:
        computed = np.asarray(module(x)).astype(np.float64)
        exact = np.asarray(module.graph.evaluate(x, precise=True), np.float64)
    normal = np.isfinite(exact) & (np.abs(exact) >= _LEAST_NORMAL)
    units = np.spacing(np.abs(exact[normal]).astype(np.float32)).astype(np.float64)
    return np.abs(computed - exact)[normal], units


def function_errors(name: str, codegen: str, count: int = VALUES) -> tuple[float, float]:
    """The largest and the mean error of a function, in units of the last place."""
    write, domain = FUNCTIONS[name]
    found, units = errors(write, arguments(domain, count), codegen)
    ulps = found / units
    return float(ulps.max()), float(ulps.mean())


def sum_error(name: str, codegen: str, x: Array) -> float:
    """The largest error, in units of the last place of the largest element."""
    write, _ = SUMS[name]
    found, units = errors(write, x, codegen)
    return float(found.max() / units.max()) if found.size else 0.0


def function_rows() -> Iterator[Sequence[str]]:
    for name, (_, (low, high)) in FUNCTIONS.items():
        pairs = (function_errors(name, codegen) for codegen in GENERATORS)
        cells = [f"{most:.2f} ({mean:.2f})" for most, mean in pairs]
        yield [name, f"{low:g} to {high:g}", *cells]


def sum_rows() -> Iterator[Sequence[str]]:
    for name, (_, shape) in SUMS.items():
        uniform = np.random.default_rng(2).random(shape, np.float32)
        tenths = np.full(shape, 0.1, np.float32)
        shown = "x".join(map(str, shape))
        cells = [f"{sum_error(name, c, x):.1f}" for x in (uniform, tenths) for c in GENERATORS]
        yield [name, shown, *cells]


def print_rows(head: Sequence[str], rows: Iterator[Sequence[str]]) -> None:
    print("|", " | ".join(head), "|")
    print("|---" * len(head) + "|")
    for row in rows:
        print("|", " | ".join(row), "|", flush=True)
    print()


if __name__ == "__main__":
    print_rows(["function", "of", *GENERATORS], function_rows())
    kinds = [f"{kind}, {codegen}" for kind in ("uniform", "tenths") for codegen in GENERATORS]
    print_rows(["sum", "shape", *kinds], sum_rows())
