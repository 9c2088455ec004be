# SPDX-License-Identifier: Apache-2.0
"""Random matmuls: loops of loads and dots, by threads and by tensor cores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tests.unit.random_tiles.writer import NUMPY, Array, Writer

if TYPE_CHECKING:
    from tests.unit.random_tiles.cases import Case

_KINDS = (
    # of operands, and of the accumulators
    ("float16", "float32"),
    ("float16", "float32"),
    ("bfloat16", "float32"),
    ("float16", "float16"),
    ("float32", "float32"),
    ("float64", "float64"),
    ("int8", "int32"),
    ("int32", "int32"),
)


def dot_case(w: Writer) -> Case:
    """c = a b, with tiles loaded directly or through shared memory."""
    from tests.unit.random_tiles.cases import Case

    rng = w.rng
    kind, total = rng.choice(_KINDS)
    if rng.random() < 0.6:  # for tensor cores
        bm, bn, bk = rng.choice((16, 32)), rng.choice((8, 16, 32)), rng.choice((16, 32))
    else:
        bm, bn, bk = (rng.choice((1, 2, 3, 4, 6, 8, 16)) for _ in range(3))
    m, n, k = rng.randint(1, 2 * bm), rng.randint(1, 2 * bn), rng.randint(1, 3 * bk)
    turned = [rng.random() < 0.3 for _ in range(2)]
    a, b = w.numbers((m, k), kind, 2), w.numbers((k, n), kind, 2)
    w.line(
        f"row, column = {bm} * self.blockIdx.x, {bn} * self.blockIdx.y",
        *_operand("ga", "a_ptr", kind, ("m", "k"), turned[0]),
        *_operand("gb", "b_ptr", kind, ("k", "n"), turned[1]),
        f"c = self.global_view(c_ptr, dtype={total}, shape=[m, n])",
        f"acc = self.register_tensor(dtype={total}, shape=[{bm}, {bn}], init=0)",
        *_loop(w, kind, (bm, bn, bk)),
    )
    scaled = rng.random() < 0.5
    if scaled:
        w.line("acc = acc + self.max(acc, dim=1, keepdim=True)")
    w.line("self.store_global(c, acc, offsets=[row, column])")
    expected = _expected(a, b, (bm, bn), scaled).astype(NUMPY[total])
    arrays = [np.ascontiguousarray(x.T) if t else x for x, t in zip((a, b), turned, strict=True)]
    grid = -(-m // bm), -(-n // bn)
    text = "\n        ".join(w.lines)
    arguments = [m, n, k, *grid, *arrays, np.zeros_like(expected)]
    return Case(arguments, expected, text, not w.rough)


def _operand(g: str, pointer: str, kind: str, size: tuple[str, str], turned: bool) -> list[str]:
    strides = f", strides=[1, {size[0]}]" if turned else ""
    return [
        f"{g} = self.global_view({pointer}, dtype={kind}, shape=[{size[0]}, {size[1]}]{strides})"
    ]


def _loop(w: Writer, kind: str, tiles: tuple[int, int, int]) -> list[str]:
    bm, bn, bk = tiles
    how = w.rng.choice(("straight", "shared", "async"))
    end = w.rng.choice(("self.dot(a, b, acc, out=acc)", "acc = self.dot(a, b, acc)"))
    a, b = f"offsets=[row, i * {bk}]", f"offsets=[i * {bk}, column]"
    head = [f"for i in range(self.utils.cdiv(k, {bk})):"]
    if how == "straight":
        body = [
            f"a = self.load_global(ga, {a}, shape=[{bm}, {bk}])",
            f"b = self.load_global(gb, {b}, shape=[{bk}, {bn}])",
        ]
        return [*head, *(f"    {line}" for line in (*body, end))]
    made = [
        f"sa = self.shared_tensor(dtype={kind}, shape=[{bm}, {bk}])",
        f"sb = self.shared_tensor(dtype={kind}, shape=[{bk}, {bn}])",
    ]
    if how == "shared":
        fill = [
            f"self.store_shared(sa, self.load_global(ga, {a}, shape=[{bm}, {bk}]))",
            f"self.store_shared(sb, self.load_global(gb, {b}, shape=[{bk}, {bn}]))",
        ]
    else:
        fill = [
            f"self.copy_async(ga, sa, {a})",
            f"self.copy_async(gb, sb, {b})",
            "self.copy_async_wait_all()",
        ]
    body = [*fill, "self.sync()", "a, b = self.load_shared(sa), self.load_shared(sb)", end]
    return [*made, *head, *(f"    {line}" for line in (*body, "self.sync()"))]


def _expected(a: Array, b: Array, tiles: tuple[int, int], scaled: bool) -> Array:
    """Tile by tile, because each tile adds the maxima of its rows."""
    wide: Any = np.int64 if a.dtype.kind == "i" else np.float64
    c: Array = a.astype(wide) @ b.astype(wide)
    if not scaled:
        return c
    bm, bn = tiles
    whole = np.pad(c, ((0, -c.shape[0] % bm), (0, -c.shape[1] % bn)))
    for left in range(0, whole.shape[1], bn):
        part = whole[:, left : left + bn]
        part += part.max(1, keepdims=True)
    return whole[: c.shape[0], : c.shape[1]]
