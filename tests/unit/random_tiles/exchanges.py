# SPDX-License-Identifier: Apache-2.0
"""Lines that exchange elements of threads: reductions, scans, shapes, layouts, shared memory."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, prod
from typing import Any

import numpy as np

from tests.unit.random_tiles.writer import EXACT, NUMPY, Env, Tile, Writer


def reduce(w: Writer) -> Tile | None:
    """Along a dimension, or all of them; sums of floats are exact in every order."""
    kind = w.rng.choice(("sum", "max", "min", "any", "all"))
    x = w.pick(
        lambda tile: (len(tile.shape) > 0 and tile.dtype != "boolean") or kind in ("any", "all")
    )
    if x is None:
        return None
    dim = w.rng.choice((*range(len(x.shape)), None))
    count = prod(x.shape) if dim is None else x.shape[dim]
    if kind == "sum" and x.is_float and not w.rough:
        if x.most == inf or EXACT[x.dtype] // count < 1:
            return None
        x = w.bounded(x, EXACT[x.dtype] // count)
    a, compute = x.name, getattr(np, kind)
    keep = dim is None or w.rng.random() < 0.6 or len(x.shape) == 1
    shape = [1 if dim in (None, at) else size for at, size in enumerate(x.shape)]
    if not keep:
        shape = [size for at, size in enumerate(x.shape) if at != dim]
    text = (
        f"self.{kind}({a}, dim={dim}, keepdim={keep})"
        if dim is not None
        else (f"self.{kind}({a}, keepdim=True)")
    )
    dtype = "boolean" if kind in ("any", "all") else x.dtype
    numpy_dtype = NUMPY[dtype]
    return w.new(
        text,
        shape,
        dtype,
        lambda env: _reduced(compute, env[a], dim, keep).astype(numpy_dtype),
        x.most * (count if kind == "sum" else 1),
        x.whole,
    )


def _reduced(compute: Any, value: Any, dim: int | None, keep: bool) -> Any:
    wide = value.astype(np.float64) if value.dtype.kind not in "iub" else value
    return np.asarray(compute(wide, axis=dim, keepdims=keep))


def scan(w: Writer) -> Tile | None:
    x = w.pick(lambda tile: tile.dtype != "boolean")
    if x is None:
        return None
    dim = w.rng.randrange(len(x.shape))
    kinds = ["add", "max", "min"] + (["and", "or", "xor", "mul"] if x.is_int else [])
    kinds += ["mul"] if w.rough and x.is_float else []
    kind, exclusive = w.rng.choice(kinds), w.rng.random() < 0.3
    if kind == "add" and x.is_float and not w.rough:
        most = EXACT[x.dtype] // x.shape[dim]
        if x.most == inf or most < 1:
            return None
        x = w.bounded(x, most)
    if exclusive and kind in ("max", "min"):
        exclusive = False  # infinite if there is no earlier element
    compute: Any = {
        "add": np.add,
        "max": np.maximum,
        "min": np.minimum,
        "mul": np.multiply,
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
    }[kind]
    a, neutral = x.name, {"mul": 1, "and": -1}.get(kind, 0)

    def scanned(env: Env) -> Any:
        value = env[a].astype(np.float64) if x.is_float else env[a]
        found = compute.accumulate(value, axis=dim, dtype=value.dtype)
        if not exclusive:
            return found
        moved = np.roll(found, 1, axis=dim)
        np.moveaxis(moved, dim, 0)[0] = np.array(neutral).astype(value.dtype)
        return moved

    tail = ", exclusive=True" if exclusive else ""
    text = f'self.scan({a}, dim={dim}, op="{kind}"{tail})'
    if kind == "add" and w.rng.random() < 0.5:
        text = f"self.cumsum({a}, dim={dim}{tail})"
    size = x.most * x.shape[dim] if kind == "add" else inf if kind == "mul" else x.most
    return w.new(text, x.shape, x.dtype, scanned, size, x.whole)


def reshape(w: Writer) -> Tile | None:
    """Other shapes of the same elements, and repeated elements."""
    x = w.pick()
    if x is None:
        return None
    a, rank = x.name, len(x.shape)
    choices: list[tuple[str, tuple[int, ...], Any]] = [
        (f"self.flatten({a})", (prod(x.shape),), lambda v: v.reshape(-1)),
        (f"self.unsqueeze({a}, dim=0)", (1, *x.shape), lambda v: v[None]),
    ]
    if rank == 2:
        choices += [(f"self.transpose({a})", x.shape[::-1], lambda v: v.T)] * 3
    if 1 in x.shape and rank > 1:
        at = x.shape.index(1)
        shape = tuple(size for dim, size in enumerate(x.shape) if dim != at)
        choices.append((f"{a}.squeeze({at})", shape, lambda v: v.squeeze(at)))
    if all(size & (size - 1) == 0 for size in x.shape):
        whole = prod(x.shape)
        rows = 1 << w.rng.randint(0, whole.bit_length() - 1)
        shape = (rows, whole // rows)
        choices += [(f"self.reshape({a}, {list(shape)})", shape, lambda v: v.reshape(shape))] * 2
    times = [w.rng.randint(1, 2) for _ in x.shape]
    larger = tuple(size * n for size, n in zip(x.shape, times, strict=True))
    if w.fits(larger):
        choices.append((f"self.repeat({a}, {times})", larger, lambda v: np.tile(v, times)))
        choices.append((f"self.repeat_interleave({a}, {times})", larger, lambda v: _each(v, times)))
    choices = [choice for choice in choices if len(choice[1]) <= 3]
    text, shape, compute = w.rng.choice(choices)
    return w.new(text, shape, x.dtype, lambda env: compute(env[a]), x.most, x.whole)


def _each(values: Any, times: list[int]) -> Any:
    for dim, count in enumerate(times):
        values = np.repeat(values, count, axis=dim)
    return values


def view(w: Writer) -> Tile | None:
    """The bits as another type of the same width."""
    x = w.pick(lambda tile: (tile.is_float and tile.whole) or tile.is_int)
    if x is None:
        return None
    size = NUMPY[x.dtype].itemsize
    same = [name for name, kind in NUMPY.items() if kind.itemsize == size and name != "boolean"]
    dtype = w.rng.choice([name for name in same if name not in EXACT])
    a = x.name
    if dtype == x.dtype:
        return None
    text = f"self.view({a}, dtype={dtype})"
    return w.new(text, x.shape, dtype, lambda env: env[a].view(NUMPY[dtype]))


def layout(w: Writer) -> Tile | None:
    """A layout of a two-dimensional tile, distributed over all threads; one per kernel, because two
    cannot meet in one instruction."""
    if any("annotate" in line for line in w.lines):
        return None
    x = w.pick(lambda tile: len(tile.shape) == 2)
    if x is None:
        return None
    rows = 1 << w.rng.randint(0, w.threads.bit_length() - 1)
    columns = w.threads // rows
    if x.shape[0] % rows or x.shape[1] % columns:
        return None
    inner = x.shape[0] // rows, x.shape[1] // columns
    threads = f"tile.layout.{w.rng.choice(('', 'column_'))}spatial({rows}, {columns})"
    held = f"tile.layout.{w.rng.choice(('', 'column_'))}local({inner[0]}, {inner[1]})"
    parts = [threads, held]
    w.rng.shuffle(parts)
    a, copy = x.name, w.name("laid")
    w.line(f"{copy} = {a}", f"self.annotate_layout({copy}, {parts[0]} * {parts[1]})")
    return w.new(copy, x.shape, x.dtype, lambda env: env[a], x.most, x.whole)


def shared(w: Writer) -> Tile | None:
    """Through shared memory: whole, transposed, in part, or with scattered elements."""
    x = w.pick()
    if x is None:
        return None
    s, a, rank = w.name("s"), x.name, len(x.shape)
    how = w.rng.choice(("whole", "turned", "part", "scatter", "slots"))
    if how == "turned" and rank == 2:
        w.line(f"{s} = self.shared_tensor(dtype={x.dtype}, shape={list(x.shape)})")
        w.line(f"self.store_shared({s}, {a})", "self.sync()")
        text, shape, compute = f"self.load_shared({s}.transpose())", x.shape[::-1], lambda v: v.T
    elif how == "slots" or (how == "part" and rank < 2):
        w.line(f"{s} = self.shared_tensor(dtype={x.dtype}, shape={[2, *x.shape]})")
        w.line(f"self.store_shared({s}[k % 2], {a})", "self.sync()")
        text, shape, compute = f"self.load_shared({s}[k % 2])", x.shape, lambda v: v
    elif how == "part":
        at = w.rng.randrange(x.shape[0])
        w.line(f"{s} = self.shared_tensor(dtype={x.dtype}, shape={list(x.shape)})")
        w.line(f"self.store_shared({s}, {a})", "self.sync()")
        text, shape, compute = f"self.load_shared({s}[{at}])", x.shape[1:], lambda v: v[at]
    elif how == "scatter" and x.dtype != "boolean" and NUMPY[x.dtype].itemsize >= 2:
        text, shape, compute = _scattered(w, x, s)
    else:
        w.line(f"{s} = self.shared_tensor(dtype={x.dtype}, shape={list(x.shape)})")
        w.line(f"self.store_shared({s}, {a})", "self.sync()")
        text, shape, compute = f"self.load_shared({s})", x.shape, lambda v: v
    view: Callable[[Any], Any] = compute
    made = w.new(text, shape, x.dtype, lambda env: view(env[a]), x.most, x.whole)
    if w.rng.random() < 0.3:
        w.line("self.sync()", f"self.free_shared({s})")
    return made


def _scattered(w: Writer, x: Tile, s: str) -> tuple[str, tuple[int, ...], Any]:
    """Elements reversed along the first dimension, each written to its position."""
    names = ", ".join(f"i{dim}" for dim in range(len(x.shape)))
    first, last = list(x.shape), x.shape[0] - 1
    w.line(
        f"{s} = self.shared_tensor(dtype={x.dtype}, shape={first})",
        f"{s}w = self.register_tensor("
        f"dtype=int32, shape={first}, init=lambda {names}: {last} - i0)",
        f"self.store_shared_scatter({s}, dim=0, indices={s}w, values={x.name})",
        "self.sync()",
    )
    return f"self.load_shared({s})", x.shape, lambda v: v[::-1]


def atomic(w: Writer) -> Tile | None:
    """Shared memory that is updated atomically with a tile."""
    x = w.pick(lambda tile: tile.dtype in ("int32", "uint32", "int64", "uint64"))
    if x is None:
        return None
    same = [tile for tile in w.tiles if tile.shape == x.shape and tile.dtype == x.dtype]
    y, s = w.rng.choice(same), w.name("s")
    kind = w.rng.choice(("add", "sub", "min", "max", "exch"))
    compute: Any = {
        "add": np.add,
        "sub": np.subtract,
        "min": np.minimum,
        "max": np.maximum,
        "exch": lambda _, b: b,
    }[kind]
    a, b = x.name, y.name
    w.line(
        f"{s} = self.shared_tensor(dtype={x.dtype}, shape={list(x.shape)})",
        f"self.store_shared({s}, {a})",
        "self.sync()",
        f"{s}b = self.atomic.shared_{kind}({s}, {b})",
        "self.sync()",
    )
    if w.rng.random() < 0.3:
        return w.new(f"{s}b", x.shape, x.dtype, lambda env: env[a])
    return w.new(f"self.load_shared({s})", x.shape, x.dtype, lambda env: compute(env[a], env[b]))


def histogram(w: Writer) -> Tile | None:
    """The count of each number modulo 16."""
    x = w.pick(lambda tile: tile.dtype == "int32" and len(tile.shape) == 1)
    if x is None or not w.fits((16,)):
        return None
    s, a = w.name("s"), x.name
    w.line(
        f"{s} = self.shared_tensor(dtype=int32, shape=[16])",
        f"self.store_shared({s}, self.register_tensor(dtype=int32, shape=[16], init=0))",
        "self.sync()",
        f"self.atomic.shared_scatter_add({s}, dim=0, indices={a} & 15, values={a} * 0 + 1)",
        "self.sync()",
    )
    return w.new(
        f"self.load_shared({s})", (16,), "int32", lambda env: np.bincount(env[a] & 15, minlength=16)
    )


STEPS = (
    *(reduce, reduce, scan, reshape, reshape, view, layout, layout),
    *(shared, shared, atomic, histogram),
)
