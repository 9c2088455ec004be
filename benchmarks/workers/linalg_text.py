# SPDX-License-Identifier: Apache-2.0
"""Workloads as MLIR text on tensors, for compilers that take linalg."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from .call import Array, Workload

_ELEMENT = {"float32": "f32", "bfloat16": "bf16", "int8": "i8", "int32": "i32"}


def module_text(workload: Workload, arrays: list[Array]) -> str:
    """A module with one public function `bench` of the inputs that are not weights."""
    text = _Text(workload, arrays)
    result = _OPERATORS[workload["op"]](text, workload)
    return text.module(result)


class _Text:
    """Builds a function line by line; values are (name, type)."""

    def __init__(self, workload: Workload, arrays: list[Array]) -> None:
        self.element = _ELEMENT[workload["dtype"]]
        self._lines: list[str] = []
        self._count = 0
        self.inputs: list[tuple[str, str]] = []
        self._arguments = []
        for position, array in enumerate(arrays):
            type = tensor_type(array.shape, self.element)
            if position in workload["weights"]:
                data = array.tobytes().hex().upper()
                self.inputs.append(self.value(f'arith.constant dense<"0x{data}"> : {type}', type))
            else:
                self._arguments.append(f"%a{position}: {type}")
                self.inputs.append((f"%a{position}", type))

    def value(self, operation: str, type: str) -> tuple[str, str]:
        """Add an operation with one result."""
        self._count += 1
        self._lines.append(f"  %{self._count} = {operation}")
        return f"%{self._count}", type

    def scalar(self, number: float, element: str) -> str:
        """A constant."""
        literal = int(number) if element.startswith("i") else f"{number:e}"
        return self.value(f"arith.constant {literal} : {element}", element)[0]

    def filled(self, shape: tuple[int, ...], number: float, element: str) -> tuple[str, str]:
        """A tensor of one number."""
        type = tensor_type(shape, element)
        empty = self.value(f"tensor.empty() : {type}", type)[0]
        unit = self.scalar(number, element)
        fill = f"linalg.fill ins({unit} : {element}) outs({empty} : {type}) -> {type}"
        return self.value(fill, type)

    def named(
        self, name: str, operands: list[tuple[str, str]], out: tuple[str, str]
    ) -> tuple[str, str]:
        """A named linalg operation, with its attributes in `name`."""
        values = ", ".join(value for value, _ in operands)
        types = ", ".join(type for _, type in operands)
        return self.value(
            f"{name} ins({values} : {types}) outs({out[0]} : {out[1]}) -> {out[1]}", out[1]
        )

    def generic(
        self,
        operands: list[tuple[str, str]],
        out: tuple[str, str],
        maps: list[str],
        kinds: str,
        body: list[str],
    ) -> tuple[str, str]:
        """linalg.generic: `maps` of operands and result over (d0, d1, ...), `kinds` p or r.

        The body is lines that use %x0, %x1 ... and %out, and define %y.
        """
        dims = ", ".join(f"d{position}" for position in range(len(kinds)))
        affine = ", ".join(f"affine_map<({dims}) -> ({index_map})>" for index_map in maps)
        words = ", ".join({"p": '"parallel"', "r": '"reduction"'}[kind] for kind in kinds)
        values = ", ".join(value for value, _ in operands)
        types = ", ".join(type for _, type in operands)
        names = [f"%x{position}: {element_of(type)}" for position, (_, type) in enumerate(operands)]
        names.append(f"%out: {element_of(out[1])}")
        lines = "\n".join(f"      {line}" for line in body)
        return self.value(
            f"linalg.generic {{indexing_maps = [{affine}], iterator_types = [{words}]}}"
            f" ins({values} : {types}) outs({out[0]} : {out[1]}) {{\n"
            f"    ^bb0({', '.join(names)}):\n{lines}\n"
            f"      linalg.yield %y : {element_of(out[1])}\n  }} -> {out[1]}",
            out[1],
        )

    def empty(self, shape: tuple[int, ...], element: str) -> tuple[str, str]:
        """A tensor to write to."""
        type = tensor_type(shape, element)
        return self.value(f"tensor.empty() : {type}", type)

    def module(self, result: tuple[str, str]) -> str:
        """The complete module, which returns `result`."""
        body = "\n".join(self._lines)
        return (
            f"func.func @bench({', '.join(self._arguments)}) -> {result[1]} {{\n{body}\n"
            f"  return {result[0]} : {result[1]}\n}}\n"
        )


def tensor_type(shape: tuple[int, ...], element: str) -> str:
    """`tensor<4x8xf32>`."""
    return f"tensor<{'x'.join([*map(str, shape), element])}>"


def element_of(type: str) -> str:
    """The element type of a tensor type's text."""
    return type.removeprefix("tensor<").removesuffix(">").rpartition("x")[2]


def _matmul(text: _Text, workload: Workload) -> tuple[str, str]:
    shape = tuple(workload["output"])
    wide = "i32" if text.element == "i8" else "f32"
    name = "linalg.batch_matmul" if len(shape) == 3 else "linalg.matmul"
    total = text.named(name, text.inputs, text.filled(shape, 0, wide))
    if text.element != "bf16":
        return total
    dims = ", ".join(f"d{position}" for position in range(len(shape)))
    narrow = ["%y = arith.truncf %x0 : f32 to bf16"]
    out = text.empty(shape, "bf16")
    return text.generic([total], out, [dims, dims], "p" * len(shape), narrow)


def _convolution(text: _Text, workload: Workload) -> tuple[str, str]:
    stride, border = workload["attributes"]["stride"], workload["attributes"]["padding"]
    depthwise = workload["op"] == "depthwise_relu"
    x, w = text.inputs
    n, height, width, channels = workload["inputs"][0]
    if border:
        shape = (n, height + 2 * border, width + 2 * border, channels)
        type = tensor_type(shape, "f32")
        zero = text.scalar(0, "f32")
        edge = f"[0, {border}, {border}, 0]"
        x = text.value(
            f"tensor.pad {x[0]} low{edge} high{edge} {{\n"
            f"    ^bb0(%p0: index, %p1: index, %p2: index, %p3: index):\n"
            f"      tensor.yield {zero} : f32\n  }} : {x[1]} to {type}",
            type,
        )
    if depthwise:
        flat = tensor_type((3, 3, channels), "f32")
        w = text.value(
            f"tensor.collapse_shape {w[0]} [[0], [1, 2], [3]] : {w[1]} into {flat}", flat
        )
    name = "depthwise_conv_2d_nhwc_hwc" if depthwise else "conv_2d_nhwc_hwcf"
    strides = f"dense<{stride}> : tensor<2xi64>"
    attributes = f"{{dilations = dense<1> : tensor<2xi64>, strides = {strides}}}"
    out = tuple(workload["output"])
    total = text.named(f"linalg.{name} {attributes}", [x, w], text.filled(out, 0, "f32"))
    relu = ["%z = arith.constant 0.0 : f32", "%y = arith.maximumf %x0, %z : f32"]
    dims = "d0, d1, d2, d3"
    return text.generic([total], text.empty(out, "f32"), [dims, dims], "pppp", relu)


def _softmax(text: _Text, workload: Workload) -> tuple[str, str]:
    out = text.empty(tuple(workload["output"]), "f32")
    return text.named("linalg.softmax dimension(1)", text.inputs, out)


def _layer_norm(text: _Text, workload: Workload) -> tuple[str, str]:
    rows, columns = workload["output"]
    x, gamma, beta = text.inputs
    add = ["%y = arith.addf %out, %x0 : f32"]
    total = text.generic([x], text.filled((rows,), 0, "f32"), ["d0, d1", "d0"], "pr", add)
    count = f"%n = arith.constant {columns:e} : f32"
    moved = [count, "%m = arith.divf %x1, %n : f32", "%d = arith.subf %x0, %m : f32"]
    squares = [*moved, "%s = arith.mulf %d, %d : f32", "%y = arith.addf %out, %s : f32"]
    maps = ["d0, d1", "d0"]
    squared = text.generic([x, total], text.filled((rows,), 0, "f32"), [*maps, "d0"], "pr", squares)
    scale = [
        *moved,
        "%v = arith.divf %x2, %n : f32",
        "%e = arith.constant 1.0e-5 : f32",
        "%w = arith.addf %v, %e : f32",
        "%r = math.rsqrt %w : f32",
        "%t = arith.mulf %d, %r : f32",
        "%u = arith.mulf %t, %x3 : f32",
        "%y = arith.addf %u, %x4 : f32",
    ]
    all_maps = [*maps, "d0", "d1", "d1", "d0, d1"]
    operands = [x, total, squared, gamma, beta]
    return text.generic(operands, text.empty((rows, columns), "f32"), all_maps, "pp", scale)


def _chain(text: _Text, workload: Workload) -> tuple[str, str]:
    body = [
        "%s = arith.addf %x0, %x1 : f32",
        "%p = arith.mulf %s, %x0 : f32",
        "%d = arith.subf %p, %x1 : f32",
        "%z = arith.constant 0.0 : f32",
        "%y = arith.maximumf %d, %z : f32",
    ]
    out = text.empty((prod(workload["output"]),), "f32")
    return text.generic(text.inputs, out, ["d0"] * 3, "p", body)


def _reduce(text: _Text, workload: Workload) -> tuple[str, str]:
    add = ["%y = arith.addf %out, %x0 : f32"]
    return text.generic(text.inputs, text.filled((), 0, "f32"), ["d0", ""], "r", add)


_OPERATORS: Mapping[str, Callable[[_Text, Workload], Any]] = {
    "matmul": _matmul,
    "conv2d_relu": _convolution,
    "depthwise_relu": _convolution,
    "softmax": _softmax,
    "layer_norm": _layer_norm,
    "chain": _chain,
    "reduce_sum": _reduce,
}
