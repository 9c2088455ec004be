# SPDX-License-Identifier: Apache-2.0
"""An operator of a model and its operands, the argument of the functions in the table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tflite

import xtc.ops as O
from xtc.graph.tensor import Tensor
from xtc.importers.tflite.load import OperatorOf, Scales, TensorOf
from xtc.importers.values import Array, Unsupported, Value, as_tensor, shape_of

_ACTIVATIONS = {
    tflite.ActivationFunctionType.NONE: (None, None),
    tflite.ActivationFunctionType.RELU: (0.0, None),
    tflite.ActivationFunctionType.RELU_N1_TO_1: (-1.0, 1.0),
    tflite.ActivationFunctionType.RELU6: (0.0, 6.0),
}
_QUANTIZED = {"int8": "int8", "uint8": "uint8"}

Limits = tuple[float | None, float | None]


@dataclass(frozen=True)
class Call:
    """An operator, with the file's descriptions of operands and results, and operand values.

    Attributes:
        operator: the operator in the file.
        tensors: descriptions of the operands; None for an omitted optional one.
        values: values of the operands.
        results: descriptions of the results.
        assign: gives the variable at an operand position a new value.
    """

    operator: OperatorOf
    tensors: Sequence[TensorOf | None]
    values: Sequence[Value | None]
    results: Sequence[TensorOf]
    assign: Callable[[int, Value], None] | None = None

    @property
    def count(self) -> int:
        """Number of operands."""
        return len(self.values)

    def has(self, position: int) -> bool:
        """Whether an operand is present."""
        return position < len(self.values) and self.values[position] is not None

    def value(self, position: int) -> Value:
        """A required operand. Raises Unsupported if it is missing."""
        found = self.values[position] if position < len(self.values) else None
        if found is None:
            raise Unsupported(f"operand {position} is missing")
        return found

    def tensor(self, position: int) -> Tensor:
        """An operand as a tensor of the graph."""
        return as_tensor(self.value(position))

    def array(self, position: int) -> Array:
        """The value of a constant operand. Raises Unsupported if it is computed."""
        found = self.value(position)
        if isinstance(found, Tensor):
            raise Unsupported(f"operand {position} is not a constant")
        return found

    def ints(self, position: int) -> list[int]:
        """The integers of a constant operand."""
        array = self.array(position)
        if array.dtype.kind != "i":
            raise Unsupported(f"operand {position} holds {array.dtype}, not integers")
        return [int(number) for number in array.reshape(-1)]

    def shape(self, position: int) -> tuple[int, ...]:
        """The shape of an operand."""
        return shape_of(self.value(position))

    def options(self, name: str) -> Any:
        """The operator's options, of the type `name`."""
        return options_of(self.operator, name)

    @property
    def quantized(self) -> bool:
        """Whether operand and result are quantized.

        Raises Unsupported if only one of them is, or only the weights are.
        """
        kinds = {self.operand(0).dtype, self.results[0].dtype}
        if kinds == {"float32"}:
            return False
        if kinds == {"uint8"}:
            raise Unsupported("uint8 without a scale")
        if kinds != {"int8"}:
            raise Unsupported(f"operands and results of {' and '.join(sorted(kinds))}")
        return True

    def operand(self, position: int) -> TensorOf:
        """The file's description of an operand."""
        found = self.tensors[position] if position < len(self.tensors) else None
        if found is None:
            raise Unsupported(f"operand {position} is missing")
        return found

    def scale(self, position: int) -> O.Quantization:
        """The per-tensor quantization of an operand."""
        return single(self.operand(position))

    @property
    def result_scale(self) -> O.Quantization:
        """The per-tensor quantization of the result."""
        return single(self.results[0])

    def scales(self, position: int) -> Scales:
        """The quantization of an operand, per tensor or per axis."""
        return scales_of(self.operand(position))


def options_of(operator: OperatorOf, name: str) -> Any:
    """An operator's options, of type `name`. Raises Unsupported if they have another type."""
    kind, table = operator.node.BuiltinOptionsType(), operator.node.BuiltinOptions()
    if kind != getattr(tflite.BuiltinOptions, name) or table is None:
        raise Unsupported(f"it has no options of type {name}")
    options = getattr(tflite, name)()
    options.Init(table.Bytes, table.Pos)
    return options


def scales_of(tensor: TensorOf) -> Scales:
    """The quantization of a tensor. Raises Unsupported if the file has none."""
    if tensor.scales is None:
        raise Unsupported(f"'{tensor.name}' is {tensor.dtype} without a scale")
    return tensor.scales


def single(tensor: TensorOf) -> O.Quantization:
    """The quantization of a tensor with a single scale. Raises Unsupported for others."""
    found = scales_of(tensor)
    if len(found.scales) != 1:
        raise Unsupported(f"'{tensor.name}' has {len(found.scales)} scales")
    zero_point = int(found.zero_points[0])
    if tensor.dtype in _QUANTIZED:
        limits = np.iinfo(tensor.dtype)
        if not limits.min <= zero_point <= limits.max:
            raise Unsupported(f"the zero point {zero_point} of '{tensor.name}', {tensor.dtype}")
    return O.Quantization(float(found.scales[0]), zero_point)


def limits_of(number: int) -> Limits:
    """The output range of an activation. Raises Unsupported for unknown ones."""
    if number not in _ACTIVATIONS:
        raise Unsupported(f"activation {number}")
    return _ACTIVATIONS[number]


def limited(x: Tensor, limits: Limits) -> Tensor:
    """Clamp a float tensor to limits."""
    low, high = limits
    if low == 0 and high is None:
        return O.relu(x)
    x = x if low is None else O.maximum(x, low)
    return x if high is None else O.minimum(x, high)


def integer_limits(limits: Limits, quantization: O.Quantization) -> tuple[int, int]:
    """Limits in int8, rounded half away from zero as in CalculateActivationRangeQuantized."""
    least, greatest = -128, 127
    low, high = (
        None if limit is None else quantization.zero_point + _rounded(limit, quantization.scale)
        for limit in limits
    )
    return (
        least if low is None else max(least, low),
        greatest if high is None else min(greatest, high),
    )


def _rounded(value: float, scale: float) -> int:
    steps = float(np.float32(value) / np.float32(scale))
    return int(np.copysign(np.floor(abs(steps) + 0.5), steps))


def known(call: Call, position: int) -> Array:
    """Dequantize a constant operand to float32."""
    array = call.array(position)
    if array.dtype in (np.float16, np.float32):
        return array.astype(np.float32)
    found = call.scales(position)
    shape = [1] * array.ndim
    if len(found.scales) > 1:
        shape[found.axis] = -1
    steps = array.astype(np.int32) - found.zero_points.reshape(shape).astype(np.int32)
    result: Array = steps.astype(np.float32) * found.scales.reshape(shape)
    return result


def tabulated(call: Call, function: Callable[[Array], Array]) -> Array:
    """A table of a real function over int8, in float32 as in kernels/internal/common.h."""
    q, y = call.scale(0), call.result_scale
    steps = np.arange(-128, 128, dtype=np.float32) - np.float32(q.zero_point)
    with np.errstate(all="ignore"):
        values = function(np.float32(q.scale) * steps).astype(np.float32)
        scaled = values * (np.float32(1) / np.float32(y.scale))
    if np.isnan(scaled).any():
        raise Unsupported("a function that is undefined for some int8")
    rounded = np.copysign(np.floor(np.abs(scaled) + np.float32(0.5)), scaled) + y.zero_point
    table: Array = np.clip(rounded, -128, 127).astype(np.int8)
    return table
