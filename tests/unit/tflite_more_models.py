# SPDX-License-Identifier: Apache-2.0
"""More models for the importer's tests: int8 operators, shapes, and operators with state."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.unit.tflite_layers import RELU, SAME, VALID, Layers, Rng, pick, scale
from tests.unit.tflite_models import model
from tests.unit.tflite_narrow_models import MODELS
from tests.unit.tflite_writer import Writer

__all__ = ["MODELS"]


@model
def transpose_conv(rng: Rng) -> Writer:
    m = Layers()
    x = m.input(1, 5, 4, 3, **scale(rng))
    same, stride, taps = bool(rng.integers(2)), pick(rng, 1, 2), pick(rng, 2, 3)
    sizes = [n * stride if same else (n - 1) * stride + taps for n in (5, 4)]
    shape = m.constant(np.array([1, *sizes, 6], np.int32))
    scales = rng.uniform(0.002, 0.02, 6)
    kernel = m.constant(rng.integers(-127, 128, (6, taps, taps, 3), np.int8), scale=scales, zero=0)
    bias = m.constant(rng.integers(-500, 500, 6, np.int32), scale=m.q(x) * scales)
    y = m.tensor((1, *sizes, 6), **scale(rng))
    more = {"Padding": SAME if same else VALID, "StrideH": stride, "StrideW": stride}
    operands = [shape, kernel, x, bias]
    return m.finish(m.op("TRANSPOSE_CONV", operands, y, "TransposeConvOptions", **more))


@model
def resize_bilinear(rng: Rng) -> Writer:
    m = Layers()
    entry = scale(rng)
    x = m.input(1, 5, 4, 3, **entry)
    found = []
    for high, wide in ((9, 8), (3, 7)):
        size = m.constant(np.array([high, wide], np.int32))
        for align, centers in ((False, False), (True, False), (False, True)):
            y = m.tensor((1, high, wide, 3), **entry)
            more = {"AlignCorners": align, "HalfPixelCenters": centers}
            found.append(m.op("RESIZE_BILINEAR", [x, size], y, "ResizeBilinearOptions", **more))
    return m.finish(*found)


@model
def batch_matmul(rng: Rng) -> Writer:
    m = Layers()
    turned_a, turned_b = bool(rng.integers(2)), bool(rng.integers(2))
    a = m.input(2, *((6, 3) if turned_a else (3, 6)), **scale(rng))
    b = m.input(2, *((5, 6) if turned_b else (6, 5)), **scale(rng))
    y = m.tensor((2, 3, 5), scale=float(rng.uniform(0.5, 1)), zero=int(rng.integers(-50, 50)))
    more = {"AdjX": turned_a, "AdjY": turned_b}
    return m.finish(m.op("BATCH_MATMUL", [a, b], y, "BatchMatMulOptions", **more))


@model
def squared_difference(rng: Rng) -> Writer:
    m = Layers()
    a, b = m.input(4, 64, **scale(rng)), m.input(64, **scale(rng))
    return m.finish(m.op("SQUARED_DIFFERENCE", [a, b], m.tensor((4, 64), **scale(rng))))


@model
def abs(rng: Rng) -> Writer:
    m = Layers()
    entry = scale(rng)
    x = m.input(4, 64, **entry)
    y = m.op("ABS", [x], m.tensor((4, 64), **scale(rng)))
    return m.finish(y, m.op("ABS", [x], m.tensor((4, 64), **{**entry, "zero": -128})))


@model
def shapes(rng: Rng) -> Writer:
    m = Layers()
    entry = scale(rng)
    x = m.input(1, 3, 4, **entry)
    wide = m.constant(np.array([2, 3, 4], np.int32))
    y = m.op("BROADCAST_TO", [x, wide], m.tensor((2, 3, 4), **entry))
    indices = m.constant(np.array([[1, 2], [0, 1]], np.int32))
    z = m.op("GATHER_ND", [y, indices], m.tensor((2, 4), **entry))
    rows = m.constant(np.array([1, 0, 1], np.int32))
    table = m.constant(rng.integers(-128, 128, (2, 5), np.int8), **entry)
    w = m.op("EMBEDDING_LOOKUP", [rows, table], m.tensor((3, 5), **entry))
    return m.finish(y, z, w)


@model
def sums_float(rng: Rng) -> Writer:
    m = Layers()
    a, b = m.input(3, 8, dtype="float32"), m.input(3, 8, dtype="float32")

    def y(code: str, operands: list[int], table: str = "", **more: Any) -> int:
        return m.op(code, operands, m.tensor((3, 8), "float32"), table, **more)

    axis = m.constant(np.array(1, np.int32))
    found = [y("CUMSUM", [a, axis], "CumsumOptions", Exclusive=e, Reverse=not e) for e in (0, 1)]
    found += [y("ADD_N", [a, b, a], "AddNOptions"), y("FLOOR_DIV", [a, b], "FloorDivOptions")]
    found += [y("FLOOR_MOD", [a, b], "FloorModOptions"), y("SIGN", [a])]
    less = m.op("LESS", [a, b], m.tensor((3, 8), "bool"), "LessOptions")
    axes = m.constant(np.array([1], np.int32))
    for code in ("REDUCE_ANY", "REDUCE_ALL"):
        y_ = m.tensor((3, 1), "bool")
        found.append(m.op(code, [less, axes], y_, "ReducerOptions", KeepDims=True))
    return m.finish(*found)


@model
def l2_pool_float(rng: Rng) -> Writer:
    m = Layers()
    x = m.input(1, 9, 8, 4, dtype="float32")
    return m.finish(m.pool("L2_POOL_2D", x, 3, 2, SAME, RELU))


@model
def streaming(rng: Rng) -> Writer:
    """A window that moves by a row in each call, kept in a variable that a subgraph sets first."""
    m, once = Layers(), Layers()
    entry = scale(rng)
    first = once.constant(rng.integers(-128, 128, (1, 2, 4), np.int8), **entry)
    for part in (once, m):
        handle = part.tensor((), "resource")
        part.op("VAR_HANDLE", [], handle, "VarHandleOptions", SharedName="window")
    once.operators.append(("ASSIGN_VARIABLE", [1, first], [], "", {}))
    m.others = [once]
    x = m.input(1, 1, 4, **entry)
    m.operators.insert(0, ("CALL_ONCE", [], [], "CallOnceOptions", {"InitSubgraphIndex": 1}))
    old = m.op("READ_VARIABLE", [0], m.tensor((1, 2, 4), **entry))
    both = m.op("CONCATENATION", [old, x], m.tensor((1, 3, 4), **entry), "ConcatenationOptions",
                Axis=1)  # fmt: skip
    starts, sizes = (m.constant(np.array(v, np.int32)) for v in ([0, 1, 0], [1, 2, 4]))
    new = m.op("SLICE", [both, starts, sizes], m.tensor((1, 2, 4), **entry), "SliceOptions")
    m.operators.append(("ASSIGN_VARIABLE", [0, new], [], "", {}))
    y = m.dense(rng, m.reshaped(both, 1, 12), 5)
    return m.finish(y)


def _svdf(rng: Rng, x: int, m: Layers, operands: list[int], **result: Any) -> Writer:
    y = m.tensor((2, 4), **result)
    more = {"Rank": 2, "FusedActivationFunction": RELU}
    return m.finish(m.op("SVDF", [x, *operands], y, "SVDFOptions", **more))


@model
def svdf(rng: Rng) -> Writer:
    m = Layers()
    x = m.input(2, 6, **scale(rng))
    features = m.constant(rng.integers(-127, 128, (8, 6), np.int8), scale=0.01, zero=0)
    time = m.constant(rng.integers(-3000, 3000, (8, 3), np.int16), scale=0.0002, zero=0)
    bias = m.constant(rng.integers(-500, 500, 4, np.int32), scale=0.0002 * 0.001)
    state = m.tensor((2, 24), "int16", scale=0.001, variable=True)
    return _svdf(rng, x, m, [features, time, bias, state], scale=0.01, zero=-128)


@model
def svdf_float(rng: Rng) -> Writer:
    m = Layers()
    x = m.input(2, 6, dtype="float32")
    shapes = ((8, 6), (8, 3), (4,))
    operands = [m.constant(rng.normal(0, 1, shape).astype(np.float32)) for shape in shapes]
    return _svdf(rng, x, m, [*operands, m.tensor((2, 24), "float32", variable=True)],
                 dtype="float32")  # fmt: skip
