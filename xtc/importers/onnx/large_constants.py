# SPDX-License-Identifier: Apache-2.0
"""Keeps the data of large constants outside the model, so that copies of the model stay small."""

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
"""Bytes of an element, for the usual types of large constants."""


def without_data(model: onnx.ModelProto) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """A copy whose large constants have types but no data, and their arrays by name.

    A constant whose data does not match its type is left for the checker to report.
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
    """The model with all data restored."""
    model = onnx.ModelProto()
    model.CopyFrom(light)
    for entry in model.graph.initializer:
        if is_taken(entry, arrays):
            entry.raw_data = arrays[entry.name].tobytes()
    return model


def with_inputs(light: onnx.ModelProto, arrays: Mapping[str, Array]) -> onnx.ModelProto:
    """The model with inputs in place of constants without data; valid if the original is."""
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
    """Whether the arrays hold the data of a constant."""
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
    """Whether a message field is repeated; protobuf versions report this in two ways."""
    found = getattr(field, "is_repeated", None)
    return bool(field.label == field.LABEL_REPEATED if found is None else found)


def _is_large(entry: onnx.TensorProto) -> bool:
    """Whether a constant is large and has exactly the bytes that its type requires."""
    nbytes = math.prod(entry.dims) * _TYPES.get(entry.data_type, 0)
    if nbytes < _LARGE_BYTES or not entry.name or any(size < 0 for size in entry.dims):
        return False
    # Reading the data would copy it.
    rest = _head(entry)
    length = -(-nbytes.bit_length() // 7)  # bytes of the length field, seven bits each
    return (
        bool(entry.HasField("raw_data"))
        and entry.ByteSize() == rest.ByteSize() + 1 + length + nbytes
    )


def _head(entry: onnx.TensorProto) -> onnx.TensorProto:
    """A constant without its data."""
    head = onnx.TensorProto(name=entry.name, data_type=entry.data_type, dims=entry.dims)
    if entry.HasField("doc_string"):
        head.doc_string = entry.doc_string
    return head
