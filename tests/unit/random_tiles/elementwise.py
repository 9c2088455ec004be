# SPDX-License-Identifier: Apache-2.0
"""Lines of arithmetic: operators, casts, branches and loops."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import ml_dtypes
import numpy as np

from tests.unit.random_tiles.writer import FLOATS, NUMPY, Env, Tile, Writer, limit

NARROW_FLOATS = {
    "float8_e4m3": (ml_dtypes.float8_e4m3fn, 448),
    "float8_e5m2": (ml_dtypes.float8_e5m2, 57344),
    "float6_e3m2": (ml_dtypes.float6_e3m2fn, 28),
    "float6_e2m3": (ml_dtypes.float6_e2m3fn, 7.5),
    "float4_e2m1": (ml_dtypes.float4_e2m1fn, 6),
}


def _sized(tile: Tile, most: float) -> tuple[float, bool]:
    """The bound of results, and whether they are whole numbers: floats are, up to a bound."""
    if not tile.is_float:
        return inf, True
    return most, tile.whole and most <= limit(tile.dtype)


def binary(w: Writer) -> Tile | None:
    x = w.pick(lambda tile: tile.dtype != "boolean")
    if x is None:
        return None
    y = w.other(x)
    name, sizes, compute = w.rng.choice(_BINARY)
    most, whole = _sized(x, sizes(x.most, y.most))
    whole = whole and y.whole
    a, b = x.name, y.name
    return w.new(
        name.format(a=a, b=b), x.shape, x.dtype, lambda env: compute(env[a], env[b]), most, whole
    )


def _plus(a: float, b: float) -> float:
    return a + b


_BINARY: list[tuple[str, Callable[[float, float], float], Callable[[Any, Any], Any]]] = [
    ("{a} + {b}", _plus, np.add),
    ("{a} - {b}", _plus, np.subtract),
    ("{a} * {b}", lambda a, b: a * b, np.multiply),
    ("self.maximum({a}, {b})", max, np.maximum),
    (
        "self.where({a} < {b}, {a}, {b} - 1)",
        lambda a, b: max(a, b + 1),
        lambda a, b: np.where(a < b, a, b - 1),
    ),
    ("self.where({a} >= {b}, {b}, {a})", max, lambda a, b: np.where(a >= b, b, a)),
    (
        "self.add({a}, {b} * 2)",
        lambda a, b: a + 2 * b,
        lambda a, b: a + b * b.dtype.type(2),
    ),
]


def bits(w: Writer) -> Tile | None:
    """Operators for integers only."""
    x = w.pick(lambda tile: tile.is_int)
    if x is None:
        return None
    y = w.other(x)
    a, b, number = x.name, y.name, w.rng.randint(1, 7)
    kind: Any = NUMPY[x.dtype].type
    choices: list[tuple[str, Callable[[Env], Any]]] = [
        (f"{a} & {b}", lambda env: env[a] & env[b]),
        (f"{a} | {b}", lambda env: env[a] | env[b]),
        (f"{a} ^ {b}", lambda env: env[a] ^ env[b]),
        (f"~{a}", lambda env: ~env[a]),
        (f"{a} << {number}", lambda env: env[a] << kind(number)),
        (f"{a} >> {number}", lambda env: env[a] >> kind(number)),
        (f"{a} // {number}", lambda env: _quotient(env[a], number)),
        (f"{a} % {number}", lambda env: env[a] - _quotient(env[a], number) * kind(number)),
        (f"-{a}", lambda env: kind(0) - env[a]),
    ]
    text, compute = w.rng.choice(choices)
    return w.new(text, x.shape, x.dtype, compute)


def _quotient(values: Any, number: int) -> Any:
    """The quotient, rounded toward zero."""
    wide = [int(value) for value in values.reshape(-1)]
    found = [abs(value) // number * (-1 if value < 0 else 1) for value in wide]
    return np.array(found, object).reshape(values.shape).astype(values.dtype)


def unary(w: Writer) -> Tile | None:
    x = w.pick(lambda tile: tile.is_float)
    if x is None:
        return None
    a = x.name
    kind: Any = NUMPY[x.dtype].type
    square = x.most * x.most
    choices: list[tuple[str, Callable[[Any], Any], float, bool]] = [
        (f"self.abs({a})", np.abs, x.most, x.whole),
        (f"-{a}", np.negative, x.most, x.whole),
        (f"self.square({a})", lambda v: v * v, square, x.whole and square <= limit(x.dtype)),
        (f"self.round({a})", np.rint, x.most, True),
        (f"{a} / 4", lambda v: v / kind(4), x.most, False),
        (f"{a} * 0.375", lambda v: v * kind(0.375), x.most, False),
        (f"self.sqrt(self.abs({a}))", lambda v: _root(np.abs(v)), x.most + 1, False),
        (f"1 / (self.abs({a}) + 1)", lambda v: kind(1) / (np.abs(v) + kind(1)), 1, False),
    ]
    if w.rough:  # NumPy rounds differently
        choices += [
            (f"self.exp(self.clip({a}, -3, 3))", lambda v: np.exp(np.clip(v, -3, 3)), 21, False),
            (f"self.exp2(self.clip({a}, -3, 3))", lambda v: np.exp2(np.clip(v, -3, 3)), 9, False),
            (f"self.log(self.abs({a}) + 1)", lambda v: np.log(np.abs(v) + kind(1)), x.most, False),
        ]
    text, compute, most, whole = w.rng.choice(choices)
    return w.new(text, x.shape, x.dtype, lambda env: compute(env[a]), most, whole)


def _root(values: Any) -> Any:
    wide = values if values.dtype.itemsize >= 4 else values.astype(np.float32)
    return np.sqrt(wide).astype(values.dtype)


def cast(w: Writer) -> Tile | None:
    x = w.pick(lambda tile: tile.whole or tile.is_float)
    if x is None:
        return None
    dtype = w.rng.choice([name for name in NUMPY if name not in (x.dtype, "boolean")])
    if dtype in FLOATS and x.is_float:
        x = w.bounded(x, 200) if w.rng.random() < 0.5 else x
    else:
        if x.most == inf:
            return None  # it may be infinite, which cannot be cast to an integer
        x = w.bounded(x, min(limit(dtype), limit(x.dtype), 2048))
    if dtype.startswith("u") and not x.dtype.startswith("u") and x.dtype != "boolean":
        x = w.new(f"self.abs({x.name})", x.shape, x.dtype, _abs(x.name), x.most, x.whole)
    a, kept = x.name, x.whole and x.most <= limit(dtype)
    text = w.rng.choice((f"self.cast({a}, {dtype})", f"{a}.to({dtype})"))
    return w.new(text, x.shape, dtype, lambda env: env[a].astype(NUMPY[dtype]), x.most, kept)


def _abs(name: str) -> Callable[[Env], Any]:
    return lambda env: np.abs(env[name])


def narrow_float(w: Writer) -> Tile | None:
    """Through a float of at most 8 bits and back."""
    x = w.pick(lambda tile: tile.dtype in ("float32", "float16"))
    if x is None:
        return None
    name, (kind, most) = w.rng.choice(list(NARROW_FLOATS.items()))
    number = int(most)
    a = f"self.clip({x.name}, -{number}, {number})"

    def compute(env: Env) -> Any:
        limited = np.minimum(np.maximum(env[x.name], -number), number)
        return limited.astype(np.float32).astype(kind).astype(np.float32)

    if x.most == inf:
        return None
    text = f"self.cast(self.cast({a}, tile.{name}), {x.dtype})"
    return w.new(text, x.shape, x.dtype, compute, min(x.most, number), False)


def narrow_int(w: Writer) -> Tile | None:
    """Through an integer of fewer than 8 bits and back."""
    x = w.pick(lambda tile: tile.is_int)
    if x is None:
        return None
    count, signed = w.rng.randint(2, 7), w.rng.random() < 0.5
    name = f"{'int' if signed else 'uint'}{count}b"

    def compute(env: Env) -> Any:
        low = env[x.name].astype(np.int64) & ((1 << count) - 1)
        return low - ((low >> (count - 1)) << count) if signed else low

    text = f"self.cast(self.cast({x.name}, tile.{name}), {x.dtype})"
    return w.new(text, x.shape, x.dtype, compute)


def compare(w: Writer) -> Tile | None:
    x = w.pick(lambda tile: tile.dtype != "boolean")
    if x is None:
        return None
    y = w.other(x)
    a, b = x.name, y.name
    text, compute = w.rng.choice(
        [
            ("<", np.less),
            ("<=", np.less_equal),
            (">", np.greater),
            (">=", np.greater_equal),
            ("==", np.equal),
            ("!=", np.not_equal),
        ]
    )
    shape = x.shape
    return w.new(f"{a} {text} {b}", shape, "boolean", lambda env: compute(env[a], env[b]))


def select(w: Writer) -> Tile | None:
    """By a stored condition, or by two combined."""
    x = w.pick(lambda tile: tile.dtype != "boolean")
    if x is None:
        return None
    c = w.pick(lambda tile: tile.dtype == "boolean" and tile.shape == x.shape)
    if c is None:
        return None
    y, d = w.other(x), w.pick(lambda tile: tile.dtype == "boolean" and tile.shape == x.shape) or c
    a, b, p, q = x.name, y.name, c.name, d.name
    sign = w.rng.choice(("&", "|", "^"))
    compute = {"&": np.logical_and, "|": np.logical_or, "^": np.logical_xor}[sign]
    return w.new(
        f"self.where({p} {sign} {q}, {a}, {b})",
        x.shape,
        x.dtype,
        lambda env: np.where(compute(env[p], env[q]), env[a], env[b]),
        max(x.most, y.most),
        x.whole and y.whole,
    )


def indices(w: Writer) -> Tile | None:
    """A tile of distinct numbers."""
    like = w.pick()
    if like is None:
        return None
    shape = like.shape
    number = w.rng.randint(-3, 3)
    names = ", ".join(f"i{dim}" for dim in range(len(shape)))
    text = " + ".join(f"i{dim} * {number + dim}" for dim in range(len(shape)))

    def compute(env: Env) -> Any:
        return sum(index * (number + dim) for dim, index in enumerate(np.indices(shape)))

    return w.new(
        f"self.register_tensor(dtype=int32, shape={list(shape)}, init=lambda {names}: {text})",
        shape,
        "int32",
        compute,
        sum(size * abs(number + dim) for dim, size in enumerate(shape)),
    )


def loop(w: Writer) -> Tile | None:
    """A loop with a constant or run-time count that carries a tile, possibly with a break."""
    x = w.pick(lambda tile: tile.dtype != "boolean")
    if x is None:
        return None
    y = w.other(x)
    a, b, acc = x.name, y.name, w.name("acc")
    kind, times = w.rng.choice(("for", "while", "break", "unrolled")), w.rng.randint(0, 3)
    head, end = [f"for u in range({times}):"], []
    if kind == "for":
        head = [w.rng.choice(("for u in range(k):", "for u in self.range(k, unroll=2):"))]
    elif kind == "while":
        counter = w.name("count")
        head = [f"{counter}: int32 = 0", f"while {counter} < k:"]
        end = [f"    {counter} += 1"]
    elif kind == "break":
        head = ["for u in range(8):", "    if u == k:", "        break"]
    w.line(f"{acc} = {a}", *head, f"    {acc} = {acc} + {b}", *end)

    def compute(env: Env) -> Any:
        total = env[a]
        for _ in range(times if kind == "unrolled" else env["k"]):
            total = total + env[b]
        return total

    most, whole = _sized(x, x.most + 8 * y.most)
    return w.new(acc, x.shape, x.dtype, compute, most, whole and y.whole)


def branch(w: Writer) -> Tile | None:
    """A branch on a run-time condition."""
    x = w.pick(lambda tile: tile.dtype != "boolean")
    if x is None:
        return None
    y = w.other(x)
    a, b, chosen = x.name, y.name, w.name("chosen")
    conditions: list[tuple[str, Callable[[Env], Any]]] = [
        ("self.blockIdx.x % 2 == 0", lambda env: env["bx"] % 2 == 0),
        ("k > 1 and self.blockIdx.y == 0", lambda env: env["k"] > 1 and env["by"] == 0),
        ("not (k < 2)", lambda env: env["k"] >= 2),
    ]
    condition, holds = w.rng.choice(conditions)
    other: Callable[[Env], Any] = lambda env: env[a]  # noqa: E731
    w.line(f"{chosen} = {a}", f"if {condition}:", f"    {chosen} = {a} - {b}")
    if w.rng.random() < 0.5:
        w.line("else:", f"    {chosen} = {a} + {a}")
        other = lambda env: env[a] + env[a]  # noqa: E731
    most, whole = _sized(x, 2 * x.most + y.most)
    return w.new(
        chosen,
        x.shape,
        x.dtype,
        lambda env: env[a] - env[b] if holds(env) else other(env),
        most,
        whole and y.whole,
    )


STEPS = (
    *(binary, binary, bits, unary, cast, cast, narrow_float, narrow_int),
    *(compare, select, indices, loop, branch),
)
