# SPDX-License-Identifier: Apache-2.0
"""The two digit classifiers in int8, for machines without floating-point instructions.

A number is an integer times its unit, a power of two. Contractions accumulate in int32, and a shift
converts the sum to the unit of the next layer's inputs. Only the ten logits become floats.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import xtc.ops as O
from examples.digits.data import SIDE, load_weights
from xtc.graph.graph import Graph
from xtc.graph.tensor import Tensor

MOST = 127
Device = object

# Fraction bits of the images and of the results of each hidden layer. They cover the largest
# values of training images, except in the cnn's second layer: its few values beyond 4 matter
# less than two more bits for all others.
INPUT_BITS: Mapping[str, Sequence[int]] = {"mlp": (6, 4, 3), "cnn": (6, 5, 5)}


@dataclass(frozen=True)
class Layer:
    """Weights and bias as integers.

    Attributes:
        weight: int8.
        bias: int32, in the unit of the sums, including one half for rounding.
        bits: fraction bits of a sum.
        shift: fraction bits to drop for the next layer's inputs; 0 for the last layer.
    """

    weight: npt.NDArray[np.int8]
    bias: npt.NDArray[np.int32]
    bits: int
    shift: int


def layers(model: str) -> list[Layer]:
    """The stored float weights of a model, rounded."""
    stored, inputs = load_weights(model), INPUT_BITS[model]
    outputs: list[int | None] = [*inputs[1:], None]
    return [
        _layer(stored[f"w{number}"], stored[f"b{number}"], before, after)
        for number, (before, after) in enumerate(zip(inputs, outputs, strict=True), start=1)
    ]


def _layer(weight: Any, bias: Any, before: int, after: int | None) -> Layer:
    own = int(np.floor(np.log2(MOST / np.abs(weight).max())))
    bits = before + own
    shift = 0 if after is None else bits - after
    half = 1 << (shift - 1) if shift else 0
    sums = np.round(bias * 2.0**bits) + half
    rounded = np.clip(np.round(weight * 2.0**own), -MOST, MOST)
    return Layer(rounded.astype(np.int8), sums.astype(np.int32), bits, shift)


def mlp(device: Device = None) -> Graph:
    """Dense layers 64-128-64-10 with relu, on flat float images (batch, 64)."""
    first, second, last = layers("mlp")
    images = O.tensor(("batch", SIDE * SIDE), "float32", name="images")
    with O.graph(name="mlp") as graph:
        x = _whole(images, "mlp", device)
        for number, layer in ((1, first), (2, second)):
            weight = _constant(layer.weight, f"w{number}", device)
            x = _next(O.matmul(x, weight, device=device), layer, number, device)
        sums = O.matmul(x, _constant(last.weight, "w3", device), device=device)
        _probabilities(sums, last, device)
    return graph.graph


def cnn(device: Device = None) -> Graph:
    """Two padded 3x3 convolutions, a max pool and a dense layer, on images (batch, 8, 8, 1)."""
    first, second, last = layers("cnn")
    images = O.tensor(("batch", SIDE, SIDE, 1), "float32", name="images")
    with O.graph(name="cnn") as graph:
        x = _whole(images, "cnn", device)
        for number, layer in ((1, first), (2, second)):
            weight = _constant(layer.weight, f"w{number}", device)
            sums = O.conv2d(x, weight, stride=1, padding=1, device=device)
            x = _next(sums, layer, number, device)
        x = O.max_pool2d(x, window=2, stride=2, device=device)
        x = O.reshape(x, ("batch", last.weight.shape[0]), device=device)
        sums = O.matmul(x, _constant(last.weight, "w3", device), device=device)
        _probabilities(sums, last, device)
    return graph.graph


def _constant(array: Any, name: str, device: Device) -> Tensor:
    return O.tensor(array.shape, str(array.dtype), name=name, const=array, device=device)


def _whole(images: Tensor, model: str, device: Device) -> Tensor:
    """Images as integers; exact, because pixels are sixteenths."""
    unit = float(2 ** INPUT_BITS[model][0])
    return O.cast(O.mul(images, unit, device=device), "int8", device=device)


def _next(sums: Tensor, layer: Layer, number: int, device: Device) -> Tensor:
    """Sums plus bias, rounded to the next unit, with relu and saturation."""
    bias = _constant(layer.bias, f"b{number}", device)
    x = O.shift_right(O.add(sums, bias, device=device), layer.shift, device=device)
    x = O.minimum(O.relu(x, device=device), MOST, device=device)
    return O.cast(x, "int8", device=device)


def _probabilities(sums: Tensor, layer: Layer, device: Device) -> None:
    sums = O.add(sums, _constant(layer.bias, "b3", device), device=device)
    logits = O.cast(sums, "float32", device=device)
    logits = O.mul(logits, float(2.0**-layer.bits), device=device)
    O.softmax(logits, axis=-1, name="probabilities", device=device)
