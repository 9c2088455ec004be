# SPDX-License-Identifier: Apache-2.0
"""Models for tests of the importer: an operator each in float32 and int8, and small networks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tflite

from tests.unit.tflite_writer import Writer

SAME, VALID = tflite.Padding.SAME, tflite.Padding.VALID
NONE, RELU, RELU6 = (
    tflite.ActivationFunctionType.NONE,
    tflite.ActivationFunctionType.RELU,
    tflite.ActivationFunctionType.RELU6,
)
Rng = np.random.Generator
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


def scale(rng: Rng) -> dict[str, Any]:
    return {"scale": float(rng.uniform(0.01, 0.1)), "zero": int(rng.integers(-100, 100))}


def pick(rng: Rng, *values: Any) -> Any:
    return values[rng.integers(len(values))]


class Layers(Writer):
    """Layers of int8 on tensors by number."""

    def q(self, number: int) -> float:
        return float(np.float32(self.tensors[number]["scale"]))

    def shape(self, number: int) -> tuple[int, ...]:
        return tuple(self.tensors[number]["shape"])

    def finish(self, *outputs: int) -> Layers:
        self.outputs = list(outputs)
        return self

    def conv(
        self,
        rng: Rng,
        x: int,
        filters: int,
        taps: tuple[int, int],
        *,
        stride: int = 1,
        padding: int = SAME,
        activation: int = NONE,
        dilation: int = 1,
        depthwise: bool = False,
        per_channel: bool = True,
        real: bool = False,
    ) -> int:
        n, h, w, c = self.shape(x)
        sizes = (1, *taps, filters) if depthwise else (filters, *taps, c)
        extents = [(tap - 1) * dilation + 1 for tap in taps]
        out = [
            -(-size // stride) if padding == SAME else (size - extent) // stride + 1
            for size, extent in zip((h, w), extents, strict=True)
        ]
        axis = 3 if depthwise else 0
        shape = (n, out[0], out[1], filters)
        if real:
            kernel = self.constant(rng.normal(0, 0.2, sizes).astype(np.float32))
            bias = self.constant(rng.normal(0, 1, filters).astype(np.float32))
            y = self.tensor(shape, "float32")
        else:
            scales = rng.uniform(0.002, 0.02, filters if per_channel else 1)
            values = rng.integers(-127, 128, sizes, np.int8)
            kernel = self.constant(values, scale=scales, zero=0, axis=axis)
            bias = self.constant(
                rng.integers(-500, 500, filters, np.int32),
                scale=self.q(x) * scales.astype(np.float32),
            )
            y = self.tensor(shape, **scale(rng))
        code, table = (
            ("DEPTHWISE_CONV_2D", "DepthwiseConv2DOptions")
            if depthwise
            else ("CONV_2D", "Conv2DOptions")
        )
        more = {"DepthMultiplier": filters // c} if depthwise else {}
        return self.op(
            code,
            [x, kernel, bias],
            y,
            table,
            Padding=padding,
            StrideH=stride,
            StrideW=stride,
            DilationHFactor=dilation,
            DilationWFactor=dilation,
            FusedActivationFunction=activation,
            **more,
        )

    def dense(
        self,
        rng: Rng,
        x: int,
        rows: int,
        *,
        activation: int = NONE,
        real: bool = False,
        per_channel: bool = False,
    ) -> int:
        terms = self.shape(x)[-1]
        if real:
            kernel = self.constant(rng.normal(0, 0.3, (rows, terms)).astype(np.float32))
            bias = self.constant(rng.normal(0, 1, rows).astype(np.float32))
            y = self.tensor((self.shape(x)[0], rows), "float32")
        else:
            factor = rng.uniform(0.002, 0.02, rows if per_channel else 1).astype(np.float32)
            kernel = self.constant(rng.integers(-127, 128, (rows, terms), np.int8), scale=factor)
            bias = self.constant(rng.integers(-500, 500, rows, np.int32), scale=self.q(x) * factor)
            y = self.tensor((self.shape(x)[0], rows), **scale(rng))
        return self.op(
            "FULLY_CONNECTED",
            [x, kernel, bias],
            y,
            "FullyConnectedOptions",
            FusedActivationFunction=activation,
        )

    def pool(
        self,
        code: str,
        x: int,
        taps: int,
        stride: int,
        padding: int = VALID,
        activation: int = NONE,
    ) -> int:
        n, h, w, c = self.shape(x)
        out = [
            -(-size // stride) if padding == SAME else (size - taps) // stride + 1
            for size in (h, w)
        ]
        entry = self.tensors[x]
        y = self.tensor((n, *out, c), entry["dtype"], scale=entry["scale"], zero=entry["zero"])
        return self.op(
            code,
            [x],
            y,
            "Pool2DOptions",
            Padding=padding,
            StrideH=stride,
            StrideW=stride,
            FilterHeight=taps,
            FilterWidth=taps,
            FusedActivationFunction=activation,
        )

    def binary(self, rng: Rng, code: str, a: int, b: int, activation: int = NONE) -> int:
        shape = np.broadcast_shapes(self.shape(a), self.shape(b))
        real = self.tensors[a]["dtype"] == "float32"
        y = self.tensor(shape, "float32") if real else self.tensor(shape, **scale(rng))
        table = f"{code.capitalize()}Options"
        return self.op(code, [a, b], y, table, FusedActivationFunction=activation)

    def reshaped(self, x: int, *shape: int) -> int:
        entry = self.tensors[x]
        y = self.tensor(shape, entry["dtype"], scale=entry["scale"], zero=entry["zero"])
        return self.op("RESHAPE", [x, self.constant(np.array(shape, np.int32))], y)

    def softmax(self, x: int, beta: float = 1.0) -> int:
        real = self.tensors[x]["dtype"] == "float32"
        shape = self.shape(x)
        y = self.tensor(shape, "float32") if real else self.tensor(shape, scale=1 / 256, zero=-128)
        return self.op("SOFTMAX", [x], y, "SoftmaxOptions", Beta=beta)

    def mean(self, rng: Rng, x: int, axes: tuple[int, ...], *, keep: bool) -> int:
        sizes = self.shape(x)
        kept = [1 if d in axes else s for d, s in enumerate(sizes)]
        shape = tuple(kept if keep else [s for d, s in enumerate(sizes) if d not in axes])
        real = self.tensors[x]["dtype"] == "float32"
        y = self.tensor(shape, "float32") if real else self.tensor(shape, **scale(rng))
        listed = self.constant(np.array(axes, np.int32))
        return self.op("MEAN", [x, listed], y, "ReducerOptions", KeepDims=keep)

    def pad(self, x: int, border: list[tuple[int, int]]) -> int:
        entry = self.tensors[x]
        sizes = [a + size + b for size, (a, b) in zip(entry["shape"], border, strict=True)]
        y = self.tensor(tuple(sizes), entry["dtype"], scale=entry["scale"], zero=entry["zero"])
        return self.op("PAD", [x, self.constant(np.array(border, np.int32))], y, "PadOptions")


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
