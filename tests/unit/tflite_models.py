# SPDX-License-Identifier: Apache-2.0
"""Models for the importer's tests: single operators in float32 and int8, and small networks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tflite

from tests.unit.tflite_layers import NONE, RELU, RELU6, SAME, VALID, Layers, Rng, pick, scale
from tests.unit.tflite_writer import Writer

MODELS: dict[str, Callable[[Rng], Writer]] = {}


def model(make: Callable[[Rng], Writer]) -> Callable[[Rng], Writer]:
    MODELS[make.__name__] = make
    return make


def random_inputs(writer: Writer, seed: int) -> list[Any]:
    rng = np.random.default_rng(seed + 100)
    arrays = []
    for number in writer.inputs:
        entry = writer.tensors[number]
        if entry["dtype"] == "float32":
            arrays.append(rng.normal(0, 2, entry["shape"]).astype(np.float32))
        else:
            limits = np.iinfo(entry["dtype"])
            arrays.append(rng.integers(limits.min, limits.max + 1, entry["shape"], entry["dtype"]))
    return arrays


def _conv_model(rng: Rng, **more: Any) -> Writer:
    m = Layers()
    real = more.get("real", False)
    x = m.input(1, 9, 8, 4, dtype="float32" if real else "int8", **({} if real else scale(rng)))
    filters = 8 if more.get("depthwise") else 5
    padding, activation = pick(rng, SAME, VALID), pick(rng, NONE, RELU, RELU6)
    stride = pick(rng, 1, 2)
    y = m.conv(
        rng, x, filters, (3, 2), stride=stride, padding=padding, activation=activation, **more
    )
    return m.finish(y)


@model
def conv(rng: Rng) -> Writer:
    return _conv_model(rng, per_channel=bool(rng.integers(2)))


@model
def conv_float(rng: Rng) -> Writer:
    return _conv_model(rng, real=True)


@model
def depthwise(rng: Rng) -> Writer:
    return _conv_model(rng, depthwise=True)


@model
def depthwise_float(rng: Rng) -> Writer:
    return _conv_model(rng, depthwise=True, real=True)


@model
def dilated(rng: Rng) -> Writer:
    m = Layers()
    x = m.input(1, 9, 8, 4, **scale(rng))
    return m.finish(m.conv(rng, x, 5, (3, 2), dilation=2, padding=pick(rng, SAME, VALID)))


@model
def dense(rng: Rng) -> Writer:
    m = Layers()
    x = m.input(3, 20, **scale(rng))
    return m.finish(m.dense(rng, x, 7, activation=pick(rng, NONE, RELU)))


@model
def dense_per_channel(rng: Rng) -> Writer:
    m = Layers()
    x = m.input(3, 20, **scale(rng))
    return m.finish(m.dense(rng, x, 7, per_channel=True))


@model
def dense_float(rng: Rng) -> Writer:
    m = Layers()
    x = m.input(3, 20, dtype="float32")
    return m.finish(m.dense(rng, x, 7, activation=pick(rng, NONE, RELU6), real=True))


def _binary_model(rng: Rng, code: str) -> Writer:
    m = Layers()
    a, b = m.input(2, 3, 4, 5, **scale(rng)), m.input(*pick(rng, (2, 3, 4, 5), (5,)), **scale(rng))
    return m.finish(m.binary(rng, code, a, b, pick(rng, NONE, RELU, RELU6)))


@model
def add(rng: Rng) -> Writer:
    return _binary_model(rng, "ADD")


@model
def sub(rng: Rng) -> Writer:
    return _binary_model(rng, "SUB")


@model
def mul(rng: Rng) -> Writer:
    return _binary_model(rng, "MUL")


@model
def binary_float(rng: Rng) -> Writer:
    m = Layers()
    a, b = m.input(2, 3, 4, 5, dtype="float32"), m.input(5, dtype="float32")
    y = m.binary(rng, "ADD", a, b, RELU)
    y = m.binary(rng, "SUB", m.binary(rng, "MUL", y, a, RELU6), b)
    return m.finish(m.binary(rng, "DIV", y, a))


def _pool_model(rng: Rng, code: str) -> Writer:
    m = Layers()
    x = m.input(1, 9, 8, 4, **scale(rng))
    taps, stride, padding = pick(rng, (3, 2, SAME), (2, 2, VALID), (3, 1, SAME), (3, 3, VALID))
    return m.finish(m.pool(code, x, taps, stride, padding, pick(rng, NONE, RELU)))


@model
def average_pool(rng: Rng) -> Writer:
    return _pool_model(rng, "AVERAGE_POOL_2D")


@model
def average_of_all(rng: Rng) -> Writer:
    m = Layers()
    x = m.input(1, 8, 8, 4, **scale(rng))
    return m.finish(m.pool("AVERAGE_POOL_2D", x, 8, 8))


@model
def max_pool(rng: Rng) -> Writer:
    return _pool_model(rng, "MAX_POOL_2D")


@model
def pools_float(rng: Rng) -> Writer:
    m = Layers()
    x = m.input(1, 9, 8, 4, dtype="float32")
    y = m.pool("AVERAGE_POOL_2D", x, 3, 2, SAME, RELU)
    return m.finish(m.pool("MAX_POOL_2D", x, 3, 2, SAME), y)


@model
def softmax(rng: Rng) -> Writer:
    m = Layers()
    x = m.input(*pick(rng, (1, 10), (3, 2, 12), (1, 2)), **scale(rng))
    return m.finish(m.softmax(x, pick(rng, 1.0, 0.7)))


@model
def softmax_float(rng: Rng) -> Writer:
    m = Layers()
    x = m.input(3, 10, dtype="float32")
    return m.finish(m.softmax(x, pick(rng, 1.0, 0.7)))


def _unary(rng: Rng, code: str, **result: Any) -> Writer:
    m = Layers()
    entry = scale(rng)
    x = m.input(4, 64, **entry)
    return m.finish(m.op(code, [x], m.tensor((4, 64), **(result or entry))))


@model
def logistic(rng: Rng) -> Writer:
    return _unary(rng, "LOGISTIC", scale=1 / 256, zero=-128)


@model
def tanh(rng: Rng) -> Writer:
    return _unary(rng, "TANH", scale=1 / 128, zero=0)


@model
def relu(rng: Rng) -> Writer:
    return _unary(rng, "RELU", **scale(rng))


@model
def relu6(rng: Rng) -> Writer:
    return _unary(rng, "RELU6", **scale(rng))


@model
def activations_float(rng: Rng) -> Writer:
    m = Layers()
    x = m.input(4, 8, dtype="float32")
    y = [
        m.op(code, [x], m.tensor((4, 8), "float32"))
        for code in ("LOGISTIC", "TANH", "RELU", "RELU6", "HARD_SWISH", "ABS", "EXP", "NEG")
    ]
    return m.finish(*y)


@model
def mean(rng: Rng) -> Writer:
    m = Layers()
    x = m.input(2, 7, 5, 6, **scale(rng))
    return m.finish(m.mean(rng, x, (1, 2), keep=bool(rng.integers(2))))


@model
def mean_of_rows(rng: Rng) -> Writer:
    m = Layers()
    x = m.input(3, 7, 5, **scale(rng))
    return m.finish(m.mean(rng, x, (pick(rng, 1, 2),), keep=bool(rng.integers(2))))


@model
def mean_float(rng: Rng) -> Writer:
    m = Layers()
    x = m.input(2, 7, 5, 6, dtype="float32")
    return m.finish(m.mean(rng, x, (1, 2), keep=True))


@model
def pad(rng: Rng) -> Writer:
    m = Layers()
    x = m.input(1, 5, 4, 3, **scale(rng))
    return m.finish(m.pad(x, [(0, 0), (1, 2), (0, 3), (0, 0)]))


@model
def quantize(rng: Rng) -> Writer:
    m = Layers()
    x = m.input(3, 40, dtype="float32")
    y = m.op("QUANTIZE", [x], m.tensor((3, 40), **scale(rng)))
    z = m.op("QUANTIZE", [y], m.tensor((3, 40), "uint8", scale=0.07, zero=131))
    w = m.op("QUANTIZE", [y], m.tensor((3, 40), **scale(rng)))
    return m.finish(y, w, m.op("DEQUANTIZE", [w], m.tensor((3, 40), "float32")), z)


@model
def concatenation(rng: Rng) -> Writer:
    m = Layers()
    entry = scale(rng)
    a, b = m.input(2, 3, 4, **entry), m.input(2, 5, 4, **entry)
    y = m.tensor((2, 8, 4), **entry)
    return m.finish(m.op("CONCATENATION", [a, b], y, "ConcatenationOptions", Axis=-2))


@model
def residual_network(rng: Rng) -> Writer:
    m = Layers()
    x = m.input(1, 12, 12, 3, **scale(rng))
    y = m.conv(rng, x, 8, (3, 3), activation=RELU)
    z = m.conv(rng, m.conv(rng, y, 8, (3, 3), activation=RELU), 8, (3, 3))
    y = m.binary(rng, "ADD", y, z, RELU)
    y = m.conv(rng, y, 8, (3, 3), stride=2, depthwise=True, activation=RELU)
    y = m.conv(rng, y, 16, (1, 1), activation=RELU6)
    y = m.pool("AVERAGE_POOL_2D", y, 6, 6)
    y = m.dense(rng, m.reshaped(y, 1, 16), 10)
    return m.finish(m.softmax(y))


@model
def float_network(rng: Rng) -> Writer:
    m = Layers()
    x = m.input(1, 12, 12, 3, dtype="float32")
    y = m.conv(rng, x, 8, (3, 3), activation=RELU, real=True)
    y = m.pool("MAX_POOL_2D", y, 2, 2)
    y = m.conv(rng, y, 8, (3, 3), depthwise=True, activation=RELU6, real=True)
    y = m.mean(rng, y, (1, 2), keep=False)
    return m.finish(m.softmax(m.dense(rng, y, 10, real=True)))


@model
def transpose_conv_float(rng: Rng) -> Writer:
    m = Layers()
    x = m.input(1, 5, 4, 3, dtype="float32")
    same, stride, taps = bool(rng.integers(2)), pick(rng, 1, 2), pick(rng, 2, 3)
    sizes = [n * stride if same else (n - 1) * stride + taps for n in (5, 4)]
    shape = m.constant(np.array([1, *sizes, 6], np.int32))
    kernel = m.constant(rng.normal(0, 1, (6, taps, taps, 3)).astype(np.float32))
    y = m.tensor((1, *sizes, 6), "float32")
    more = {"Padding": SAME if same else VALID, "StrideH": stride, "StrideW": stride}
    return m.finish(m.op("TRANSPOSE_CONV", [shape, kernel, x], y, "TransposeConvOptions", **more))


@model
def resizes_float(rng: Rng) -> Writer:
    m = Layers()
    x = m.input(1, 5, 4, 3, dtype="float32")
    size = m.constant(np.array([9, 8], np.int32))
    found = []
    for name in ("Bilinear", "NearestNeighbor"):
        for align, centers in ((False, False), (True, False), (False, True)):
            y = m.tensor((1, 9, 8, 3), "float32")
            code = {"Bilinear": "RESIZE_BILINEAR"}.get(name, "RESIZE_NEAREST_NEIGHBOR")
            more = {"AlignCorners": align, "HalfPixelCenters": centers}
            found.append(m.op(code, [x, size], y, f"Resize{name}Options", **more))
    return m.finish(*found)


@model
def movement(rng: Rng) -> Writer:
    m = Layers()
    entry = scale(rng)
    x = m.input(2, 6, 4, **entry)
    begin, end, step = (
        m.constant(np.array(v, np.int32)) for v in ([0, 5, 1], [2, 0, 4], [1, -2, 1])
    )
    y = m.op(
        "STRIDED_SLICE", [x, begin, end, step], m.tensor((2, 3, 3), **entry), "StridedSliceOptions"
    )
    axes = m.constant(np.array([2, 0, 1], np.int32))
    z = m.op("TRANSPOSE", [y, axes], m.tensor((3, 2, 3), **entry), "TransposeOptions")
    starts, sizes = (m.constant(np.array(v, np.int32)) for v in ([1, 0, 0], [2, -1, 2]))
    w = m.op("SLICE", [z, starts, sizes], m.tensor((2, 2, 2), **entry), "SliceOptions")
    both = m.op(
        "PACK", [w, w], m.tensor((2, 2, 2, 2), **entry), "PackOptions", Axis=1, ValuesCount=2
    )
    return m.finish(z, both)


@model
def small_functions_float(rng: Rng) -> Writer:
    m = Layers()
    x = m.input(1, 4, 3, 8, dtype="float32")
    slope = m.constant(rng.normal(0, 1, (1, 1, 8)).astype(np.float32))
    y = m.op("PRELU", [x, slope], m.tensor((1, 4, 3, 8), "float32"))
    z = m.op("SQUARED_DIFFERENCE", [x, y], m.tensor((1, 4, 3, 8), "float32"))
    axis = m.constant(np.array(3, np.int32))
    w = m.op(
        "ARG_MAX",
        [z, axis],
        m.tensor((1, 4, 3), "int32"),
        "ArgMaxOptions",
        OutputType=tflite.TensorType.INT32,
    )
    d = m.op(
        "DEPTH_TO_SPACE", [x], m.tensor((1, 8, 6, 2), "float32"), "DepthToSpaceOptions", BlockSize=2
    )
    return m.finish(y, z, w, d)


@model
def half_weights(rng: Rng) -> Writer:
    m = Layers()
    x = m.input(3, 20, dtype="float32")
    half = m.constant(rng.normal(0, 1, (7, 20)).astype(np.float16))
    kernel = m.op("DEQUANTIZE", [half], m.tensor((7, 20), "float32"))
    y = m.tensor((3, 7), "float32")
    return m.finish(m.op("FULLY_CONNECTED", [x, kernel, -1], y, "FullyConnectedOptions"))
