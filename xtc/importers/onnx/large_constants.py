# SPDX-License-Identifier: Apache-2.0
"""The data of large constants apart from their model: what copies the model need not copy it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import onnx

from xtc.importers.values import Array

_LARGE_BYTES = 1 << 16
_TYPES = {
    onnx.TensorProto.FLOAT: 4,
    onnx.TensorProto.DOUBLE: 8,
    onnx.TensorProto.FLOAT16: 2,
    onnx.TensorProto.BFLOAT16: 2,
    onnx.TensorProto.INT8: 1,
    onnx.TensorProto.UINT8: 1,
    onnx.TensorProto.INT32: 4,
    onnx.TensorProto.INT64: 8,
}
"""Bytes of an element, for types of which large constants usually are."""


def without_data(model: onnx.ModelProto) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """A copy whose large constants have types and no data, and their arrays by name.

    A constant whose data does not fit its type stays as it is, for a check to find.
    """
    light = onnx.ModelProto()
    _copy_fields(model, light, "graph")
    light.graph.SetInParent()
    _copy_fields(model.graph, light.graph, "initializer")
    arrays: dict[str, Array] = {}
    for entry in model.graph.initializer:
        if entry.name not in arrays and _is_large(entry):
            arrays[entry.name] = onnx.numpy_helper.to_array(entry)
            light.graph.initializer.append(_head(entry))
        else:
            light.graph.initializer.append(entry)
    return light, arrays


def with_data(light: onnx.ModelProto, arrays: Mapping[str, Array]) -> onnx.ModelProto:
    """The whole model again."""
    model = onnx.ModelProto()
    model.CopyFrom(light)
    for entry in model.graph.initializer:
        if is_taken(entry, arrays):
            entry.raw_data = arrays[entry.name].tobytes()
    return model


def with_inputs(light: onnx.ModelProto, arrays: Mapping[str, Array]) -> onnx.ModelProto:
    """The model with inputs in place of constants without data: valid where the whole model is."""
    model = onnx.ModelProto()
    _copy_fields(light, model, "graph")
    model.graph.SetInParent()
    _copy_fields(light.graph, model.graph, "initializer")
    inputs = {entry.name for entry in light.graph.input}
    for entry in light.graph.initializer:
        if not is_taken(entry, arrays):
            model.graph.initializer.append(entry)
        elif entry.name not in inputs:
            info = onnx.helper.make_tensor_value_info(entry.name, entry.data_type, entry.dims)
            model.graph.input.append(info)
    return model


def is_taken(entry: onnx.TensorProto, arrays: Mapping[str, Array]) -> bool:
    """Whether the data of a constant is among the arrays."""
    return entry.name in arrays and not entry.HasField("raw_data")


def _copy_fields(source: Any, target: Any, left_out: str) -> None:
    for field, value in source.ListFields():
        if field.name == left_out:
            continue
        if is_repeated(field):
            getattr(target, field.name).extend(value)
        elif field.type == field.TYPE_MESSAGE:
            getattr(target, field.name).CopyFrom(value)
        else:
            setattr(target, field.name, value)


def is_repeated(field: Any) -> bool:
    """Whether a field of a message has several values; protobuf has said so in two ways."""
    found = getattr(field, "is_repeated", None)
    return bool(field.label == field.LABEL_REPEATED if found is None else found)


def _is_large(entry: onnx.TensorProto) -> bool:
    """Whether a constant is large, and nothing but as many bytes as its type asks for."""
    nbytes = math.prod(entry.dims) * _TYPES.get(entry.data_type, 0)
    if nbytes < _LARGE_BYTES or not entry.name or any(size < 0 for size in entry.dims):
        return False
    # Reading the data itself would copy it.
    rest = _head(entry)
    length = -(-nbytes.bit_length() // 7)  # bytes of a length: seven bits in each
    return (
        bool(entry.HasField("raw_data"))
        and entry.ByteSize() == rest.ByteSize() + 1 + length + nbytes
    )


def _head(entry: onnx.TensorProto) -> onnx.TensorProto:
    """The name and the type of a constant."""
    head = onnx.TensorProto(name=entry.name, data_type=entry.data_type, dims=entry.dims)
    if entry.HasField("doc_string"):
        head.doc_string = entry.doc_string
    return head
