# SPDX-License-Identifier: Apache-2.0
"""LSTM layers with integer weights and dynamically quantized inputs."""

from __future__ import annotations

from dataclasses import dataclass

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.movement import part
from xtc.importers.onnx.call import Call
from xtc.importers.onnx.ops.contributed.domain import contributed
from xtc.importers.onnx.ops.quantized import dynamically_quantized, integer_matmul
from xtc.importers.onnx.ops.recurrent import Layer, layer_of, layers, lstm_step
from xtc.importers.onnx.table import Result


@dataclass(frozen=True)
class Weights:
    """An integer matrix (input, gates * hidden).

    Attributes:
        values: int8 or uint8.
        scale: one number, or one per column.
        zero: like the scale; None for zeros.
    """

    values: Tensor
    scale: Tensor
    zero: Tensor | None

    def times(self, x: Tensor) -> Tensor:
        """x @ weights in float32, with x dynamically quantized to uint8."""
        rounded, scale, shift = dynamically_quantized(x)
        total = integer_matmul(rounded, shift, self.values, self.zero, self.zero is not None)
        return O.mul(O.cast(total, "float32"), O.mul(scale, self.scale))


@dataclass(frozen=True)
class QuantizedLayer(Layer):
    """One direction of a layer with integer matrices."""

    input_weights: Weights
    state_weights: Weights

    def input(self, x: Tensor) -> Tensor:
        return self.biased(self.input_weights.times(x), 0)

    def state(self, h: Tensor) -> Tensor:
        return self.biased(self.state_weights.times(h), 1)


@contributed("DynamicQuantizeLSTM", 1)
def dynamic_quantize_lstm(call: Call) -> Result:
    return layers(call, lstm_step, 4, ("Sigmoid", "Tanh", "Tanh"), 2, _layer)


def _layer(call: Call, number: int) -> Layer:
    plain = layer_of(call, 4, ("Sigmoid", "Tanh", "Tanh"), number)
    hidden = plain.r.type.sizes[0]  # (hidden, gates * hidden)
    return QuantizedLayer(
        plain.gates,
        hidden,
        plain.w,
        plain.r,
        plain.b,
        plain.peepholes,
        plain.activations,
        call,
        Weights(plain.w, *_scales(call, 8, number)),
        Weights(plain.r, *_scales(call, 10, number)),
    )


def _scales(call: Call, position: int, number: int) -> tuple[Tensor, Tensor | None]:
    """Scale and zero point of one direction's matrix."""
    scale = _of(call.tensor(position), number)
    zero = call.inputs[position + 1] if call.has(position + 1) else None
    if zero is None or (not isinstance(zero, Tensor) and not zero.any()):
        return scale, None
    return scale, _of(call.tensor(position + 1), number)


def _of(x: Tensor, number: int) -> Tensor:
    row = part(x, 0, number, number + 1)
    return O.reshape(row, () if row.type.size == 1 else (row.type.size,))
