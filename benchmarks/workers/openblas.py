# SPDX-License-Identifier: Apache-2.0
"""NumPy, whose matmuls call OpenBLAS; a convolution is im2col and a matmul."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from .call import Array, Call, Operators, Unsupported, Workload, aligned, keeping, lookup, padded


def prepare(workload: Workload, arrays: list[Array], threads: int) -> Call:
    """A call on arrays without copies, with its result in a separate array."""
    if workload["dtype"] != "float32":
        raise Unsupported(f"OpenBLAS has no {workload['dtype']} product that NumPy calls")
    call: Call = lookup(_OPERATORS, workload)(workload, *arrays)
    return call


def _matmul(workload: Workload, a: Array, b: Array) -> Call:
    out = aligned((*a.shape[:-1], b.shape[-1]), a.dtype)
    return Call(lambda: np.matmul(a, b, out=out), lambda: out)


def _conv2d(workload: Workload, x: Array, w: Array) -> Call:
    stride, border = workload["attributes"]["stride"], workload["attributes"]["padding"]
    r, s, channels, filters = w.shape
    matrix = np.ascontiguousarray(w.reshape(r * s * channels, filters))

    def run() -> Array:
        if r == 1 and border == 0:
            taps = np.ascontiguousarray(x[:, ::stride, ::stride])
        else:
            windows = sliding_window_view(padded(x, border), (r, s), axis=(1, 2))
            windows = windows[:, ::stride, ::stride].transpose(0, 1, 2, 4, 5, 3)
            taps = np.ascontiguousarray(windows)
        rows = np.matmul(taps.reshape(-1, r * s * channels), matrix)
        np.maximum(rows, 0, out=rows)
        image: Array = rows.reshape(*taps.shape[:3], filters)
        return image

    return keeping(run)


def _depthwise(workload: Workload, x: Array, w: Array) -> Call:
    stride, border = workload["attributes"]["stride"], workload["attributes"]["padding"]
    r, s, _, _ = w.shape

    def run() -> Array:
        image = padded(x, border)
        height = (image.shape[1] - r) // stride + 1
        width = (image.shape[2] - s) // stride + 1
        total = np.zeros((x.shape[0], height, width, x.shape[3]), np.float32)
        for i in range(r):
            for j in range(s):
                rows = slice(i, i + (height - 1) * stride + 1, stride)
                columns = slice(j, j + (width - 1) * stride + 1, stride)
                total += image[:, rows, columns] * w[i, j, 0]
        return np.maximum(total, 0, out=total)

    return keeping(run)


def _softmax(workload: Workload, x: Array) -> Call:
    out, each = aligned(x.shape, x.dtype), np.empty((len(x), 1), np.float32)

    def run() -> None:
        np.max(x, axis=1, keepdims=True, out=each)
        np.subtract(x, each, out=out)
        np.exp(out, out=out)
        np.sum(out, axis=1, keepdims=True, out=each)
        np.divide(out, each, out=out)

    return Call(run, lambda: out)


def _layer_norm(workload: Workload, x: Array, gamma: Array, beta: Array) -> Call:
    epsilon = np.float32(1e-5)

    def run() -> Array:
        moved = x - x.mean(axis=1, keepdims=True)
        variance = np.mean(moved * moved, axis=1, keepdims=True)
        moved *= 1 / np.sqrt(variance + epsilon)
        moved *= gamma
        moved += beta
        return np.asarray(moved)

    return keeping(run)


def _chain(workload: Workload, x: Array, y: Array) -> Call:
    out = aligned(x.shape, x.dtype)

    def run() -> None:
        np.add(x, y, out=out)
        np.multiply(out, x, out=out)
        np.subtract(out, y, out=out)
        np.maximum(out, 0, out=out)

    return Call(run, lambda: out)


def _reduce(workload: Workload, x: Array) -> Call:
    return keeping(lambda: np.asarray(np.sum(x)))


_OPERATORS: Operators = {
    "matmul": _matmul,
    "conv2d_relu": _conv2d,
    "depthwise_relu": _depthwise,
    "softmax": _softmax,
    "layer_norm": _layer_norm,
    "chain": _chain,
    "reduce_sum": _reduce,
}
