# SPDX-License-Identifier: Apache-2.0
"""Lines that load tiles of global memory: directly, transposed, by copies, and of narrow types."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.unit.random_tiles.elementwise import NARROW_FLOATS
from tests.unit.random_tiles.writer import EXACT, NUMPY, Array, Env, Writer

_VALUES = 4  # inputs are whole numbers of at most this size


def load(w: Writer, pointer: str, size: tuple[int, int], shape: tuple[int, int]) -> Array:
    """Write lines that load a tile of a matrix, and create the matrix."""
    if w.rng.random() < 0.15:
        return _narrow(w, pointer, size, shape)
    dtype = w.rng.choice([name for name in NUMPY if name != "boolean"])
    if w.rng.random() < 0.4:
        dtype = w.rng.choice(("float32", "float16", "int32"))
    if w.tiles and w.rng.random() < 0.7:
        dtype = w.tiles[-1].dtype
    array = w.numbers(size, dtype, _VALUES)
    turned = w.rng.random() < 0.3
    g, swapped = _view(w, pointer, dtype, size, turned)
    how = w.rng.choice(("load", "load", "copy", "group"))
    text = _read(w, (g, swapped), how, dtype, shape)
    most = float(np.abs(array.astype(np.float64)).max(initial=0))
    whole = not (w.rough and dtype in EXACT)
    w.new(text, shape, dtype, lambda env: tile_of(array, env, shape), most, whole)
    return np.ascontiguousarray(array.T) if turned else array


def _view(
    w: Writer, pointer: str, dtype: str, size: tuple[int, int], turned: bool
) -> tuple[str, bool]:
    """The name of a view of the matrix, with run-time or constant sizes; and whether its dimensions
    are swapped, if strides do not express that it is transposed in memory."""
    g = w.name("g")
    m, n = w.rng.choice((("m", "n"), (str(size[0]), str(size[1])), ("m", str(size[1]))))
    swapped = turned and w.rng.random() < 0.5
    shape, strides = f"[{m}, {n}]", ""
    if swapped:
        shape = f"[{n}, {m}]"
    elif turned:
        strides = f", strides=[1, {m}]"
    w.line(f"{g} = self.global_view({pointer}, dtype={dtype}, shape={shape}{strides})")
    return g, swapped


def _read(w: Writer, view: tuple[str, bool], how: str, dtype: str, shape: tuple[int, int]) -> str:
    """The expression that reads the tile."""
    (g, swapped), (rows, columns) = view, shape
    sizes = f"[{rows}, {columns}]"
    offsets = f"[self.blockIdx.x * {rows}, self.blockIdx.y * {columns}]"
    if swapped:
        sizes = f"[{columns}, {rows}]"
        offsets = f"[self.blockIdx.y * {columns}, self.blockIdx.x * {rows}]"
    if how == "load":
        text = f"self.load_global({g}, offsets={offsets}, shape={sizes})"
        return f"self.transpose({text})" if swapped else text
    s, waits = w.name("s"), ["self.copy_async_wait_all()"]
    if how == "group":
        waits = ["self.copy_async_commit_group()", "self.copy_async_wait_group(0)"]
    w.line(
        f"{s} = self.shared_tensor(dtype={dtype}, shape={sizes})",
        f"self.copy_async({g}, {s}, offsets={offsets})",
        *waits,
        "self.sync()",
    )
    return f"self.load_shared({s}.transpose())" if swapped else f"self.load_shared({s})"


def tile_of(array: Array, env: Env, shape: tuple[int, int]) -> Array:
    """The tile of a block, 0 outside of the matrix."""
    rows, columns = shape
    top, left = env["bx"] * rows, env["by"] * columns
    part = array[top : top + rows, left : left + columns]
    made: Array = np.pad(part, ((0, rows - part.shape[0]), (0, columns - part.shape[1])))
    return made


def _narrow(w: Writer, pointer: str, size: tuple[int, int], shape: tuple[int, int]) -> Array:
    """Elements that share bytes, or 8-bit floats, cast to a common type."""
    names = [f"{sign}int{bits}b" for sign in ("", "u") for bits in range(1, 8)]
    name = w.rng.choice((*names, *NARROW_FLOATS))
    bits = int("".join(filter(str.isdigit, name.split("_")[0])))
    step = next(count for count in (1, 2, 4, 8) if count * bits % 8 == 0)
    columns, width = -(-shape[1] // step) * step, -(-size[1] // step) * step
    if columns != shape[1]:
        return load(w, pointer, size, shape)  # rows, and offsets in them, are whole bytes
    target = w.rng.choice(("float16", "float32", "int32"))
    codes = np.array([w.rng.randrange(1 << bits) for _ in range(size[0] * width)], np.uint8)
    codes = codes.reshape(size[0], width)
    if name == "float8_e4m3":
        codes[codes & 0x7F == 0x7F] = 0x10
    if name == "float8_e5m2":
        codes[codes & 0x7C == 0x7C] = 0x10
    if target == "int32" and name in NARROW_FLOATS:
        target = "float32"
    values = _values(name, bits, codes)
    g = w.name("g")
    w.line(f"{g} = self.global_view({pointer}, dtype=tile.{name}, shape=[{size[0]}, {width}])")
    text = _read(w, (g, False), w.rng.choice(("load", "copy")), f"tile.{name}", shape)
    most = float(np.abs(values).max(initial=0))
    whole = "int" in name and most <= EXACT.get(target, 1 << 20)
    w.new(
        f"self.cast({text}, {target})",
        shape,
        target,
        lambda env: tile_of(values, env, shape),
        most,
        whole,
    )
    return _packed(codes, bits)


def _values(name: str, bits: int, codes: Array) -> Array:
    """The values of codes."""
    if name in NARROW_FLOATS:
        kind: Any = NARROW_FLOATS[name][0]
        numbers: Array = codes.view(kind).astype(np.float32)
        return numbers
    wide = codes.astype(np.int64)
    return wide if name.startswith("u") else wide - ((wide >> (bits - 1)) << bits)


def _packed(codes: Array, bits: int) -> Array:
    """Rows of codes as bytes, the first code in the lowest bits."""
    spread = (codes[..., None] >> np.arange(bits, dtype=np.uint8)) & 1
    return np.packbits(spread.reshape(codes.shape[0], -1), axis=1, bitorder="little")
