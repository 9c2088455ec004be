# SPDX-License-Identifier: Apache-2.0
"""Apache TVM: matmuls and convolutions, with a schedule whose register tile is the best of a few.

TVM has no default schedules for CPUs, and its search takes minutes per operator. So this file has
the schedule of its tutorials: packed panels of B, and a register tile that is accumulated in place,
vectorized and unrolled. Every tile in the list is built and timed, and the fastest is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tvm
from tvm import s_tir, te, tirx

from .call import Array, Call, Operators, Unsupported, Workload, lookup
from .tiles import Tile, fastest, tiles_of, vector_divisor

_PACKED_FROM = 32  # rows: with fewer, packing does not pay


def prepare(workload: Workload, arrays: list[Array], threads: int) -> Call:
    """The fastest of the tiles that divide the sizes."""
    if workload["dtype"] != "float32":
        raise Unsupported(f"no schedule of {workload['dtype']} is written for it here")
    scheduled: Callable[[Tile], Any] = lookup(_OPERATORS, workload)(workload, threads)
    device = tvm.cpu()
    out = np.zeros(workload["output"], np.float32)
    tensors = [tvm.runtime.tensor(array, device) for array in (*arrays, out)]
    functions = [_built(scheduled(tile)) for tile in tiles_of(*workload["output"][-2:])]
    best = fastest(functions, tensors)
    return Call(lambda: best(*tensors), lambda: np.asarray(tensors[-1].numpy()))


def _built(schedule: Any) -> Any:
    cpu = tvm.get_global_func("target.llvm_get_system_cpu")()
    target = tvm.target.Target({"kind": "llvm", "mcpu": str(cpu)})
    return tvm.compile(schedule.mod, target=target)["main"]


def _matmul(workload: Workload, threads: int) -> Callable[[Tile], Any]:
    *batch, rows, columns = workload["output"]
    terms = workload["inputs"][0][-1]
    packed = rows >= _PACKED_FROM and not batch

    def scheduled(tile: Tile) -> Any:
        width = tile[1]
        a = te.placeholder((*batch, rows, terms), "float32", name="A")
        b = te.placeholder((*batch, terms, columns), "float32", name="B")
        k = te.reduce_axis((0, terms), "k")
        if packed:
            shape = (columns // width, terms, width)
            panels = te.compute(shape, lambda o, i, j: b[i, o * width + j], name="P")

        def product(*at: Any) -> Any:
            *lead, i, j = at
            of_a, of_b = (*lead, i, k), (*lead, k, j)
            if packed:
                return te.sum(a[of_a] * panels[j // width, k, j % width], axis=k)
            return te.sum(a[of_a] * b[of_b], axis=k)

        c = te.compute((*batch, rows, columns), product, name="C")
        schedule = s_tir.Schedule(te.create_prim_func([a, b, c]))
        *outer, i, j, k_loop = schedule.get_loops(schedule.get_sblock("C"))
        _tile(schedule, outer, (i, j), [k_loop], tile, threads)
        if packed:
            first, _, last = schedule.get_loops(schedule.get_sblock("P"))
            schedule.vectorize(last)
            if threads > 1:
                schedule.parallel(first)
        return schedule

    return scheduled


def _conv2d(workload: Workload, threads: int) -> Callable[[Tile], Any]:
    stride, border = workload["attributes"]["stride"], workload["attributes"]["padding"]
    (n, height, width, channels), window = workload["inputs"]

    def scheduled(tile: Tile) -> Any:
        x = te.placeholder((n, height, width, channels), "float32", name="X")
        w = te.placeholder(tuple(window), "float32", name="W")
        image = _padded(x, border)
        r = te.reduce_axis((0, window[0]), "r")
        s = te.reduce_axis((0, window[1]), "s")
        c = te.reduce_axis((0, channels), "c")

        def sum_at(n: Any, h: Any, v: Any, f: Any) -> Any:
            tap = image[n, h * stride + r, v * stride + s, c]
            return te.sum(tap * w[r, s, c, f], axis=[r, s, c])

        total = te.compute(tuple(workload["output"]), sum_at, name="C")
        out = _relu(total)
        schedule = s_tir.Schedule(te.create_prim_func([x, w, out]))
        n_loop, h, v, f, *terms = schedule.get_loops(schedule.get_sblock("C"))
        _tile(schedule, [n_loop, h], (v, f), terms, tile, threads)
        _finish_image(schedule, border, threads)
        return schedule

    return scheduled


def _depthwise(workload: Workload, threads: int) -> Callable[[Tile], Any]:
    stride, border = workload["attributes"]["stride"], workload["attributes"]["padding"]
    shape, window = workload["inputs"]

    def scheduled(tile: Tile) -> Any:
        x = te.placeholder(tuple(shape), "float32", name="X")
        w = te.placeholder(tuple(window), "float32", name="W")
        image = _padded(x, border)
        r = te.reduce_axis((0, window[0]), "r")
        s = te.reduce_axis((0, window[1]), "s")

        def sum_at(n: Any, h: Any, v: Any, c: Any) -> Any:
            return te.sum(image[n, h * stride + r, v * stride + s, c] * w[r, s, 0, c], axis=[r, s])

        out = _relu(te.compute(tuple(workload["output"]), sum_at, name="C"))
        schedule = s_tir.Schedule(te.create_prim_func([x, w, out]))
        n_loop, h, v, c, *terms = schedule.get_loops(schedule.get_sblock("C"))
        _tile(schedule, [n_loop, h], (v, c), terms, tile, threads)
        _finish_image(schedule, border, threads)
        return schedule

    return scheduled


def _padded(x: Any, border: int) -> Any:
    if border == 0:
        return x
    n, height, width, channels = (int(size) for size in x.shape)

    def at(n: Any, h: Any, v: Any, c: Any) -> Any:
        inside = tirx.all(h >= border, h < height + border, v >= border, v < width + border)
        return tirx.if_then_else(inside, x[n, h - border, v - border, c], 0.0)

    return te.compute((n, height + 2 * border, width + 2 * border, channels), at, name="I")


def _relu(total: Any) -> Any:
    return te.compute(total.shape, lambda *at: te.max(total[at], 0.0), name="R")


def _tile(
    schedule: Any,
    outer: list[Any],
    pair: tuple[Any, Any],
    terms: list[Any],
    tile: Tile,
    threads: int,
) -> None:
    """Keep a tile of block C in registers for the whole reduction."""
    block = schedule.get_sblock("C")
    i0, i1 = schedule.split(pair[0], [None, tile[0]])
    j0, j1 = schedule.split(pair[1], [None, tile[1]])
    schedule.reorder(*outer, j0, i0, *terms, i1, j1)
    schedule.unroll(i1)
    schedule.vectorize(j1)
    if threads > 1:
        schedule.parallel(schedule.fuse(*outer, j0))
    written = schedule.cache_write(block, 0, "global")
    schedule.reverse_compute_at(written, i0)
    schedule.vectorize(schedule.get_loops(written)[-1])
    schedule.decompose_reduction(block, terms[0])
    *_, row, column = schedule.get_loops(schedule.get_sblock("C_init"))
    schedule.unroll(row)
    schedule.vectorize(column)


def _finish_image(schedule: Any, border: int, threads: int) -> None:
    """Schedule the border and the activation: whole rows, in vectors."""
    for name in ("I", "R") if border else ("R",):
        _, h, _, c = schedule.get_loops(schedule.get_sblock(name))
        schedule.vectorize(schedule.split(c, [None, vector_divisor(_extent(schedule, c), 64)])[1])
        if threads > 1:
            schedule.parallel(h)


def _extent(schedule: Any, loop: Any) -> int:
    return int(schedule.get(loop).extent)


_OPERATORS: Operators = {"matmul": _matmul, "conv2d_relu": _conv2d, "depthwise_relu": _depthwise}
