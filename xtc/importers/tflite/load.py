# SPDX-License-Identifier: Apache-2.0
"""Reads and checks a model; a malformed file raises UserError.

The generated accessors follow arbitrary offsets: each read is in bounds or raises, and nothing is
read twice. Counts are limited before lists are built.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import tflite

from xtc.core.errors import UserError
from xtc.importers.values import Array

DAMAGED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, struct.error)
"""Errors that accessors raise for a damaged file."""

UNSIGNED = 128
"""Offset between uint8 and the corresponding int8."""
_IDENTIFIER = b"TFL3"
_MOST = 1 << 16  # limit for tensors, operators, buffers
_MOST_DIMENSIONS = 8
_MOST_ELEMENTS = 1 << 31
_LARGEST = 1 << 31  # bytes of a file, since offsets have 32 bits
_TYPES = {
    getattr(tflite.TensorType, name.upper()): name
    for name in ("float32", "float16", "float64", "int8", "uint8", "int16", "int32", "int64")
} | {tflite.TensorType.BOOL: "bool"}
_OPERATORS = {
    number: name for name, number in vars(tflite.BuiltinOperator).items() if name.isupper()
}


@dataclass(frozen=True)
class Scales:
    """Quantization parameters: real = (integer - zero point) * scale.

    Attributes:
        scales: one, or one per index of a dimension, as float32.
        zero_points: one per scale.
        axis: the dimension, for several scales.
    """

    scales: Array
    zero_points: Array
    axis: int


@dataclass(frozen=True)
class TensorOf:
    """A tensor of the file.

    Attributes:
        dtype: name of the element type, or "type 5" for one that graphs lack.
        data: the value of a constant.
        scales: None if it is not quantized.
        is_sparse: whether the constant is stored as a sparse tensor, which is not read.
        is_unsigned: whether the file has uint8; values and zero points here are less by 128.
        is_variable: whether an operator updates it and it keeps its value between calls.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    data: Array | None
    scales: Scales | None
    is_sparse: bool = False
    is_unsigned: bool = False
    is_variable: bool = False


@dataclass(frozen=True)
class OperatorOf:
    """An operator of the file: its tensors by index, -1 for an omitted optional one."""

    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    node: Any


@dataclass(frozen=True)
class Subgraph:
    """Operators, and the tensors that they refer to by index."""

    tensors: tuple[TensorOf, ...]
    operators: tuple[OperatorOf, ...]


@dataclass(frozen=True)
class TfliteModel:
    """A file; its main subgraph is the first."""

    name: str
    subgraphs: tuple[Subgraph, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    @property
    def tensors(self) -> tuple[TensorOf, ...]:
        return self.subgraphs[0].tensors

    @property
    def operators(self) -> tuple[OperatorOf, ...]:
        return self.subgraphs[0].operators


def load_model(path: Path) -> TfliteModel:
    """The model in a file. Raises UserError for invalid files."""
    data = _bytes(path)
    if data[4:8] != _IDENTIFIER:
        raise _unreadable(path, "the identifier TFL3 at byte 4 is missing")
    try:
        return _model(data, path)
    except UserError:
        raise
    except DAMAGED as error:
        raise _unreadable(path, f"{type(error).__name__}: {error}"[:300]) from None


def _bytes(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise UserError(f"there is no file {path}")
        if path.stat().st_size >= _LARGEST:
            raise UserError(f"{path} has 2 GB or more", notes=["offsets in a model have 32 bits"])
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path}: {error}") from None


def _unreadable(path: Path, why: str) -> UserError:
    return UserError(f"{path} cannot be read as a TensorFlow Lite model", notes=[why])


def _model(data: bytes, path: Path) -> TfliteModel:
    model = tflite.Model.GetRootAs(data, 0)
    if model.Version() != 3:
        raise ValueError(f"version {model.Version()} of the format; 3 is known")
    if model.SubgraphsLength() < 1:
        raise ValueError("no subgraph")
    codes = _listed(model.OperatorCodesLength(), model.OperatorCodes, _code)
    read = _listed(
        model.SubgraphsLength(), model.Subgraphs, lambda graph: _subgraph(model, graph, codes)
    )
    subgraph = model.Subgraphs(0)
    count = subgraph.TensorsLength()
    inputs = _numbers(subgraph.InputsLength(), subgraph.InputsAsNumpy, count)
    outputs = _numbers(subgraph.OutputsLength(), subgraph.OutputsAsNumpy, count)
    if min((*inputs, *outputs), default=0) < 0 or not outputs:
        raise ValueError("an input or output of the model is missing")
    name = _text(subgraph.Name()) or path.stem
    return TfliteModel(name, tuple(read), inputs, outputs)


def _subgraph(model: Any, graph: Any, codes: list[str]) -> Subgraph:
    count = graph.TensorsLength()
    tensors = _listed(count, graph.Tensors, lambda tensor: _tensor(model, tensor))
    operators = _listed(
        graph.OperatorsLength(), graph.Operators, lambda node: _operator(node, codes, count)
    )
    return Subgraph(tuple(tensors), tuple(operators))


def _listed(count: int, get: Callable[[int], Any], read: Callable[[Any], Any]) -> list[Any]:
    if not 0 <= count <= _MOST:
        raise ValueError(f"a list of {count}; the most is {_MOST}")
    return [read(get(number)) for number in range(count)]


def _numbers(count: int, read: Callable[[], Any], limit: int) -> tuple[int, ...]:
    """A vector of tensor indices, each below `limit`."""
    if not 0 <= count <= _MOST:
        raise ValueError(f"a list of {count}; the most is {_MOST}")
    found = tuple(map(int, read())) if count else ()
    for number in found:
        if not -1 <= number < limit:
            raise ValueError(f"tensor {number} of {limit}")
    return found


def _text(raw: bytes | None) -> str:
    return raw.decode("utf-8") if raw else ""


def _code(code: Any) -> str:
    """The name of an operator; a custom one's in quotes."""
    number = max(code.DeprecatedBuiltinCode(), code.BuiltinCode())
    if number == tflite.BuiltinOperator.CUSTOM:
        return f"custom '{_text(code.CustomCode())[:80]}'"
    return str(_OPERATORS.get(number, f"number {number}"))


def _operator(node: Any, codes: list[str], count: int) -> OperatorOf:
    index = node.OpcodeIndex()
    if not 0 <= index < len(codes):
        raise ValueError(f"operator code {index} of {len(codes)}")
    inputs = _numbers(node.InputsLength(), node.InputsAsNumpy, count)
    outputs = _numbers(node.OutputsLength(), node.OutputsAsNumpy, count)
    return OperatorOf(codes[index], inputs, outputs, node)


def _tensor(model: Any, tensor: Any) -> TensorOf:
    rank = tensor.ShapeLength()
    if not 0 <= rank <= _MOST_DIMENSIONS:
        raise ValueError(f"a tensor has rank {rank}, more than {_MOST_DIMENSIONS}")
    shape = tuple(map(int, tensor.ShapeAsNumpy())) if rank else ()
    if min(shape, default=1) < 0 or math.prod(shape) > _MOST_ELEMENTS:
        raise ValueError(f"a tensor of shape {shape}")
    dtype = _TYPES.get(tensor.Type(), f"type {tensor.Type()}")
    name = _text(tensor.Name())
    data = _data(model, tensor, shape, dtype, name)
    sparse = tensor.Sparsity() is not None
    scales = _scales(tensor.Quantization(), shape, name)
    found = TensorOf(name, shape, dtype, data, scales, sparse)
    return replace(_signed(found), is_variable=bool(tensor.IsVariable()))


def _signed(tensor: TensorOf) -> TensorOf:
    """Convert quantized uint8 to int8 with a shifted zero point."""
    if tensor.dtype != "uint8" or tensor.scales is None:
        return tensor
    scales = replace(tensor.scales, zero_points=tensor.scales.zero_points - UNSIGNED)
    data = None if tensor.data is None else (tensor.data ^ np.uint8(UNSIGNED)).view(np.int8)
    return replace(tensor, dtype="int8", data=data, scales=scales, is_unsigned=True)


def _data(model: Any, tensor: Any, shape: tuple[int, ...], dtype: str, name: str) -> Array | None:
    number = tensor.Buffer()
    if not 0 <= number < model.BuffersLength():
        raise ValueError(f"there is no buffer {number}: the file has {model.BuffersLength()}")
    buffer = model.Buffers(number)
    if buffer.Size() > 0:
        raise ValueError(f"the data of '{name}' follows the model, as in files of 2 GB and more")
    if buffer.DataLength() == 0:
        return None
    if tensor.IsVariable() or tensor.Sparsity() is not None or dtype.startswith("type"):
        return None  # unused: operators that read the tensor are rejected
    raw = buffer.DataAsNumpy().tobytes()
    kind = np.dtype(dtype)
    if len(raw) != math.prod(shape) * kind.itemsize:
        raise ValueError(f"'{name}' has {len(raw)} bytes, and shape {shape} of {dtype}")
    array = np.frombuffer(raw, kind).reshape(shape)
    if dtype == "bool" and (np.frombuffer(raw, np.uint8) > 1).any():
        raise ValueError(f"'{name}' has bools that are neither 0 nor 1")
    return array


def _scales(found: Any, shape: tuple[int, ...], name: str) -> Scales | None:
    count = 0 if found is None else found.ScaleLength()
    if count == 0:
        return None
    axis = found.QuantizedDimension()
    if count > 1 and not (0 <= axis < len(shape) and count == shape[axis]):
        raise ValueError(f"'{name}' has {count} scales along dimension {axis} of {shape}")
    scales = np.array(found.ScaleAsNumpy(), np.float32)
    if not (np.isfinite(scales).all() and (scales > 0).all()):
        raise ValueError(f"a scale of '{name}' is not a positive number")
    points = found.ZeroPointAsNumpy() if found.ZeroPointLength() else np.zeros(count)
    zero_points = np.array(points, np.int64)
    if len(zero_points) != count:
        raise ValueError(f"'{name}' has {count} scales and {len(zero_points)} zero points")
    if (np.abs(zero_points) > np.iinfo(np.int16).max).any():
        raise ValueError(f"a zero point of '{name}' is {zero_points.max()}")
    return Scales(scales, zero_points, axis)
