# SPDX-License-Identifier: Apache-2.0
"""Writes TensorFlow Lite models: tensors, operators, inputs and outputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import flatbuffers
import numpy as np
import tflite

TYPES = {
    "float32": tflite.TensorType.FLOAT32,
    "float16": tflite.TensorType.FLOAT16,
    "int8": tflite.TensorType.INT8,
    "uint8": tflite.TensorType.UINT8,
    "int32": tflite.TensorType.INT32,
    "int16": tflite.TensorType.INT16,
    "bool": tflite.TensorType.BOOL,
    "resource": tflite.TensorType.RESOURCE,
}


def _table(builder: Any, name: str, **fields: Any) -> int:
    """A table whose fields are offsets or numbers, by the generated functions."""
    getattr(tflite, f"{name}Start")(builder)
    for key, value in fields.items():
        getattr(tflite, f"{name}Add{key}")(builder, value)
    return int(getattr(tflite, f"{name}End")(builder))


def _offsets(builder: Any, offsets: list[int]) -> int:
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return int(builder.EndVector())


def _array(builder: Any, values: Any, dtype: str) -> int:
    return int(builder.CreateNumpyVector(np.asarray(values, dtype)))


@dataclass
class Writer:
    """Collects a model; `data` gives the bytes of the file, with `others` as more subgraphs."""

    tensors: list[dict[str, Any]] = field(default_factory=list)
    operators: list[tuple[str, list[int], list[int], str, dict[str, Any]]] = field(
        default_factory=list
    )
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    others: list[Writer] = field(default_factory=list)

    def tensor(
        self,
        shape: tuple[int, ...],
        dtype: str = "int8",
        *,
        scale: Any = None,
        zero: Any = 0,
        axis: int = 0,
        const: Any = None,
        name: str = "",
        variable: bool = False,
    ) -> int:
        """Declare a tensor; returns its number."""
        number = len(self.tensors)
        entry = {"shape": shape, "dtype": dtype, "scale": scale, "zero": zero, "axis": axis}
        more = {"const": const, "name": name or f"t{number}", "variable": variable}
        self.tensors.append({**entry, **more})
        return number

    def input(self, *shape: int, dtype: str = "int8", **more: Any) -> int:
        """Declare an input."""
        self.inputs.append(self.tensor(shape, dtype, **more))
        return self.inputs[-1]

    def constant(self, values: Any, **more: Any) -> int:
        """Declare a constant."""
        array = np.ascontiguousarray(values)
        return self.tensor(array.shape, array.dtype.name, const=array, **more)

    def op(self, code: str, inputs: list[int], output: int, table: str = "", **more: Any) -> int:
        """Append an operator with the options `table` of the fields `more`; returns its result."""
        self.operators.append((code, inputs, [output], table, more))
        return output

    def data(self) -> bytes:
        """The file."""
        b = flatbuffers.Builder(1024)
        buffers = [_table(b, "Buffer")]
        parts = [self, *self.others]
        codes = sorted({code for part in parts for code, *_ in part.operators})
        subgraphs = [part._subgraph(b, codes, buffers) for part in parts]
        entries = [self._code(b, code) for code in codes]
        graphs, data = _offsets(b, subgraphs), _offsets(b, buffers)
        model = self._model(b, _offsets(b, entries), graphs, data)
        b.Finish(model, file_identifier=b"TFL3")
        return bytes(b.Output())

    def _subgraph(self, b: Any, codes: list[str], buffers: list[int]) -> int:
        tensors = [self._tensor(b, entry, buffers) for entry in self.tensors]
        operators = [self._operator(b, codes, *entry) for entry in self.operators]
        name, listed = b.CreateString("main"), _offsets(b, tensors)
        inputs, outputs = _array(b, self.inputs, "int32"), _array(b, self.outputs, "int32")
        return self._graph(b, listed, inputs, outputs, operators, name)

    @staticmethod
    def _graph(b: Any, listed: int, inputs: int, outputs: int, ops: list[int], name: int) -> int:
        operators = _offsets(b, ops)
        fields = {"Tensors": listed, "Inputs": inputs, "Outputs": outputs}
        return _table(b, "SubGraph", **fields, Operators=operators, Name=name)

    @staticmethod
    def _model(b: Any, codes: int, graphs: int, buffers: int) -> int:
        return _table(b, "Model", Version=3, OperatorCodes=codes, Subgraphs=graphs, Buffers=buffers)

    @staticmethod
    def _code(b: Any, code: str) -> int:
        number = getattr(tflite.BuiltinOperator, code)
        fields = {"DeprecatedBuiltinCode": min(number, 127), "BuiltinCode": number}
        return _table(b, "OperatorCode", **fields, Version=VERSIONS.get(code, 1))

    @staticmethod
    def _tensor(b: Any, entry: dict[str, Any], buffers: list[int]) -> int:
        number = 0
        if entry["const"] is not None:
            data = _array(b, np.frombuffer(entry["const"].tobytes(), np.uint8), "uint8")
            number = len(buffers)
            buffers.append(_table(b, "Buffer", Data=data))
        name, shape = b.CreateString(entry["name"]), _array(b, entry["shape"], "int32")
        fields = {"Shape": shape, "Type": TYPES[entry["dtype"]], "Buffer": number, "Name": name}
        fields["IsVariable"] = entry["variable"]
        if entry["scale"] is not None:
            scales = np.atleast_1d(entry["scale"])
            zeros = np.broadcast_to(entry["zero"], scales.shape)
            listed = _array(b, scales, "float32"), _array(b, zeros, "int64")
            quantized = {"Scale": listed[0], "ZeroPoint": listed[1]}
            fields["Quantization"] = _table(
                b, "QuantizationParameters", **quantized, QuantizedDimension=entry["axis"]
            )
        return _table(b, "Tensor", **fields)

    @staticmethod
    def _operator(
        b: Any,
        codes: list[str],
        code: str,
        inputs: list[int],
        outputs: list[int],
        table: str,
        more: dict[str, Any],
    ) -> int:
        fields: dict[str, Any] = {
            "OpcodeIndex": codes.index(code),
            "Inputs": _array(b, inputs, "int32"),
            "Outputs": _array(b, outputs, "int32"),
        }
        if table:
            texts = {key: b.CreateString(v) for key, v in more.items() if isinstance(v, str)}
            more = {**more, **texts}
            fields["BuiltinOptionsType"] = getattr(tflite.BuiltinOptions, table)
            fields["BuiltinOptions"] = _table(b, table, **more)
        return _table(b, "Operator", **fields)


# The first versions with int8 kernels.
VERSIONS = {
    "CONV_2D": 3,
    "DEPTHWISE_CONV_2D": 3,
    "FULLY_CONNECTED": 4,
    "ADD": 2,
    "SUB": 2,
    "MUL": 2,
    "AVERAGE_POOL_2D": 2,
    "MAX_POOL_2D": 2,
    "SOFTMAX": 2,
    "PAD": 2,
    "MEAN": 2,
    "SUM": 2,
    "CONCATENATION": 2,
    "LOGISTIC": 2,
    "TANH": 2,
    "RELU": 2,
    "RELU6": 2,
    "QUANTIZE": 2,
    "DEQUANTIZE": 2,
    "STRIDED_SLICE": 2,
    "TRANSPOSE": 2,
    "SLICE": 2,
    "PACK": 2,
    "RESIZE_BILINEAR": 3,
    "RESIZE_NEAREST_NEIGHBOR": 3,
    "TRANSPOSE_CONV": 3,
    "BATCH_MATMUL": 2,
    "BROADCAST_TO": 3,
    "SVDF": 4,
}
