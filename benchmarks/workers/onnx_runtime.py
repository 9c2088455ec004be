# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime on the processor: a model of the operator, run on bound inputs and outputs.

Convolutions are (n, c, h, w), the layout of ONNX; their weights belong to the model.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from .call import Array, Call, Operators, Unsupported, Workload, lookup

_OPSET = 20
_IR_VERSION = 10


def prepare(workload: Workload, arrays: list[Array], threads: int) -> Call:
    """A session of `threads` threads whose inputs and outputs are bound once."""
    if workload["dtype"] == "bfloat16":
        raise Unsupported("its processor kernels have no bfloat16 MatMul")
    model: _Model = lookup(_OPERATORS, workload)(workload, *arrays)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        model.bytes(), options, providers=["CPUExecutionProvider"]
    )
    binding = session.io_binding()
    for name, array in model.inputs.items():
        binding.bind_cpu_input(name, array)
    binding.bind_output("out")
    session.run_with_iobinding(binding)
    out = binding.get_outputs()[0]
    binding.bind_ortvalue_output("out", out)  # later calls write to the same memory

    def result() -> Array:
        array: Array = out.numpy()
        return np.ascontiguousarray(array.transpose(0, 2, 3, 1)) if model.is_image else array

    return Call(lambda: session.run_with_iobinding(binding), result)


class _Model:
    """A graph whose last node writes `out`."""

    def __init__(self, inputs: dict[str, Array], weights: dict[str, Array] | None = None) -> None:
        self.inputs = {name: np.ascontiguousarray(array) for name, array in inputs.items()}
        self.is_image = False
        self._weights = weights or {}
        self._nodes: list[Any] = []

    def node(self, kind: str, operands: list[str], result: str = "out", **attributes: Any) -> None:
        self._nodes.append(helper.make_node(kind, operands, [result], **attributes))

    def bytes(self) -> bytes:
        inputs = [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
            )
            for name, array in self.inputs.items()
        ]
        kind = (
            TensorProto.INT32 if self._nodes[-1].op_type == "MatMulInteger" else TensorProto.FLOAT
        )
        outputs = [helper.make_tensor_value_info("out", kind, None)]
        weights = [
            numpy_helper.from_array(np.ascontiguousarray(array), name)
            for name, array in self._weights.items()
        ]
        graph = helper.make_graph(self._nodes, "bench", inputs, outputs, weights)
        opsets = [helper.make_opsetid("", _OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)
        result: bytes = model.SerializeToString()
        return result


def _matmul(workload: Workload, a: Array, b: Array) -> _Model:
    if workload["dtype"] != "int8":
        model = _Model({"a": a, "b": b})
        model.node("MatMul", ["a", "b"])
        return model
    # Its fast kernels multiply unsigned by signed: the same matmul with zero point 128 for a.
    moved = (a.astype(np.int16) + 128).astype(np.uint8)
    model = _Model({"a": moved, "b": b}, {"zero": np.array(128, np.uint8)})
    model.node("MatMulInteger", ["a", "b", "zero"])
    return model


def _conv2d(workload: Workload, x: Array, w: Array, groups: int = 1) -> _Model:
    stride, border = workload["attributes"]["stride"], workload["attributes"]["padding"]
    model = _Model({"x": x.transpose(0, 3, 1, 2)}, {"w": w.transpose(3, 2, 0, 1)})
    model.is_image = True
    model.node("Conv", ["x", "w"], "sum", strides=[stride] * 2, pads=[border] * 4, group=groups)
    model.node("Relu", ["sum"])
    return model


def _depthwise(workload: Workload, x: Array, w: Array) -> _Model:
    return _conv2d(workload, x, w, groups=x.shape[3])


def _softmax(workload: Workload, x: Array) -> _Model:
    model = _Model({"x": x})
    model.node("Softmax", ["x"], axis=1)
    return model


def _layer_norm(workload: Workload, x: Array, gamma: Array, beta: Array) -> _Model:
    model = _Model({"x": x, "gamma": gamma, "beta": beta})
    model.node("LayerNormalization", ["x", "gamma", "beta"], axis=1, epsilon=1e-5)
    return model


def _chain(workload: Workload, x: Array, y: Array) -> _Model:
    model = _Model({"x": x, "y": y})
    model.node("Add", ["x", "y"], "sum")
    model.node("Mul", ["sum", "x"], "product")
    model.node("Sub", ["product", "y"], "difference")
    model.node("Relu", ["difference"])
    return model


def _reduce(workload: Workload, x: Array) -> _Model:
    model = _Model({"x": x})
    model.node("ReduceSum", ["x"], keepdims=0)
    return model


_OPERATORS: Operators = {
    "matmul": _matmul,
    "conv2d_relu": _conv2d,
    "depthwise_relu": _depthwise,
    "softmax": _softmax,
    "layer_norm": _layer_norm,
    "chain": _chain,
    "reduce_sum": _reduce,
}
