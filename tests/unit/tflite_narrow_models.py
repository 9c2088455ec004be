# SPDX-License-Identifier: Apache-2.0
"""More models for the importer's tests: uint8, functions of int8, comparisons, data movement."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.unit.tflite_layers import RELU, SAME, VALID, Layers, Rng, pick, scale
from tests.unit.tflite_models import MODELS, model
from tests.unit.tflite_writer import Writer

__all__ = ["MODELS"]


def unsigned(writer: Writer) -> Writer:
    """The same model in uint8, with weights that have a zero point."""
    for entry in writer.tensors:
        if entry["dtype"] != "int8":
            continue
        entry["dtype"] = "uint8"
        entry["zero"] = np.asarray(entry["zero"]) + 128
        if entry["const"] is not None:
            entry["const"] = (entry["const"].astype(np.int16) + 128).astype(np.uint8)
            entry["zero"] = entry["zero"] + 9
    return writer


def _unsigned(name: str, **kept: Any) -> None:
    def make(rng: Rng) -> Writer:
        return unsigned(MODELS[name](rng))

    make.__name__ = f"{name}_uint8"
    model(make)


for _name in (
    "dense",
    "add",
    "mul",
    "average_pool",
    "max_pool",
    "softmax",
    "logistic",
    "concatenation",
):
    _unsigned(_name)


@model
def conv_uint8(rng: Rng) -> Writer:
    m = Layers()
    x = m.input(1, 9, 8, 4, **scale(rng))
    y = m.conv(rng, x, 5, (3, 2), padding=pick(rng, SAME, VALID), per_channel=False)
    z = m.conv(rng, y, 10, (3, 3), depthwise=True, per_channel=False, activation=RELU)
    return unsigned(m.finish(z))


def _function(rng: Rng, code: str, table: str = "", **more: Any) -> Writer:
    m = Layers()
    x = m.input(4, 64, **scale(rng))
    return m.finish(m.op(code, [x], m.tensor((4, 64), **scale(rng)), table, **more))


@model
def hard_swish(rng: Rng) -> Writer:
    m = Layers()
    x = m.input(4, 64, scale=float(rng.uniform(0.02, 0.06)), zero=int(rng.integers(-100, 100)))
    y = m.tensor((4, 64), scale=float(rng.uniform(0.02, 0.06)), zero=int(rng.integers(-100, 100)))
    return m.finish(m.op("HARD_SWISH", [x], y, "HardSwishOptions"))


@model
def leaky_relu(rng: Rng) -> Writer:
    return _function(rng, "LEAKY_RELU", "LeakyReluOptions", Alpha=float(rng.uniform(0.01, 0.5)))


@model
def prelu(rng: Rng) -> Writer:
    m = Layers()
    x = m.input(1, 4, 5, 6, **scale(rng))
    slope = m.constant(rng.integers(-128, 128, (1, 1, 6), np.int8), **scale(rng))
    return m.finish(m.op("PRELU", [x, slope], m.tensor((1, 4, 5, 6), **scale(rng))))


@model
def elu(rng: Rng) -> Writer:
    return _function(rng, "ELU")


@model
def exp(rng: Rng) -> Writer:
    return _function(rng, "EXP", "ExpOptions")


@model
def sum_of_int8(rng: Rng) -> Writer:
    m = Layers()
    x = m.input(2, 7, 5, 6, **scale(rng))
    axes = m.constant(np.array([1, 2], np.int32))
    y = m.tensor((2, 1, 1, 6), scale=float(rng.uniform(0.3, 1)), zero=int(rng.integers(-100, 100)))
    return m.finish(m.op("SUM", [x, axes], y, "ReducerOptions", KeepDims=True))


@model
def blocks(rng: Rng) -> Writer:
    """A dilated convolution by space_to_batch, as older converters wrote it."""
    m = Layers()
    entry = scale(rng)
    x = m.input(1, 6, 7, 3, **entry)
    size, zeros = np.array([2, 2], np.int32), np.array([[0, 0], [0, 1]], np.int32)
    block, border = m.constant(size), m.constant(zeros)
    y = m.op("SPACE_TO_BATCH_ND", [x, block, border], m.tensor((4, 3, 4, 3), **entry))
    z = m.op("BATCH_TO_SPACE_ND", [y, block, border], m.tensor((1, 6, 7, 3), **entry))
    return m.finish(y, z)


@model
def comparisons_float(rng: Rng) -> Writer:
    m = Layers()
    a, b = m.input(3, 8, dtype="float32"), m.input(3, 8, dtype="float32")
    less = m.op("LESS", [a, b], m.tensor((3, 8), "bool"), "LessOptions")
    more = m.op("GREATER_EQUAL", [a, b], m.tensor((3, 8), "bool"), "GreaterEqualOptions")
    both = m.op("LOGICAL_OR", [less, more], m.tensor((3, 8), "bool"), "LogicalOrOptions")
    y = m.op("SELECT_V2", [less, a, b], m.tensor((3, 8), "float32"), "SelectV2Options")
    return m.finish(y, both)


@model
def functions_float(rng: Rng) -> Writer:
    m = Layers()
    x = m.input(3, 8, dtype="float32")
    y = [m.op(code, [x], m.tensor((3, 8), "float32")) for code in ("ELU", "LOG_SOFTMAX", "ROUND")]
    axes = m.constant(np.array([1], np.int32))
    for code in ("REDUCE_MIN", "REDUCE_PROD"):
        least = m.tensor((3, 1), "float32")
        y.append(m.op(code, [x, axes], least, "ReducerOptions", KeepDims=True))
    norm = m.tensor((3, 8), "float32")
    y.append(m.op("L2_NORMALIZATION", [x], norm, "L2NormOptions"))
    turned = m.op("REVERSE_V2", [x, axes], m.tensor((3, 8), "float32"), "ReverseV2Options")
    repeats = m.constant(np.array([2, 1], np.int32))
    return m.finish(
        *y, turned, m.op("TILE", [x, repeats], m.tensor((6, 8), "float32"), "TileOptions")
    )


@model
def halves_float(rng: Rng) -> Writer:
    """Multiples of one half, which are rounded to even."""
    m = Layers()
    x = m.constant((np.arange(24).reshape(3, 8) / 2 - 6).astype(np.float32))
    z = m.input(3, 8, dtype="float32")
    zero = m.op("SUB", [z, z], m.tensor((3, 8), "float32"), "SubOptions")
    total = m.op("ADD", [zero, x], m.tensor((3, 8), "float32"), "AddOptions")
    return m.finish(m.op("ROUND", [total], m.tensor((3, 8), "float32")))
