# SPDX-License-Identifier: Apache-2.0
"""Layers with random weights, in int8 and in float32, for models of tests."""

from __future__ import annotations

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
