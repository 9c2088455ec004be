# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of generated C: the available compilers, with all warnings enabled."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from hypothesis import settings

import xtc.ops as O
from tests.unit.ops_support import ALL, Array, data
from xtc.core.errors import UserError
from xtc.graph.builder import apply
from xtc.graph.graph import Graph
from xtc.graph.tensor import Tensor
from xtc.ops.softmax_share import SoftmaxShare

STRICT = "-Wall -Wextra -Werror"
COMPILERS = tuple(name for name in ("gcc", "clang") if shutil.which(name)) or ("cc",)


@pytest.fixture(params=COMPILERS)
def strict_compiler(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """XTC_CC names each C compiler of this machine in turn, with warnings as errors."""
    name = str(request.param)
    monkeypatch.setenv("XTC_CC", f"{name} {STRICT}")
    return name


Make = Callable[[Mapping[str, Tensor]], Tensor]

EVERY_OPERATOR: dict[str, Make] = {
    "add": lambda t: O.add(t["x"], t["y"]),
    "avg_pool2d": lambda t: O.avg_pool2d(t["image"], (2, 3), padding=1),
    "cast": lambda t: O.cast(O.cast(t["x"], "float64"), t["x"].dtype),
    "concat": lambda t: O.concat(t["x"], t["y"], axis=1),
    "conv2d": lambda t: O.conv2d(t["image"], t["filter"], stride=(1, 2), padding="same"),
    "div": lambda t: O.div(t["x"], t["ones"]),
    "exp": lambda t: O.exp(t["x"]),
    "gelu": lambda t: O.gelu(t["x"]),
    "gemv": lambda t: O.gemv(t["x"], t["row"]),
    "layer_norm": lambda t: O.layer_norm(t["x"], t["row"], t["row"]),
    "leaky_relu": lambda t: O.leaky_relu(t["x"], slope=0.25),
    "log": lambda t: O.log(t["ones"]),
    "matmul": lambda t: O.matmul(t["x"], t["y"], transpose_b=True),
    "max_pool2d": lambda t: O.max_pool2d(t["image"], 2, dilation=2),
    "maximum": lambda t: O.maximum(t["x"], t["y"]),
    "minimum": lambda t: O.minimum(t["x"], t["y"]),
    "mul": lambda t: O.mul(t["x"], t["y"]),
    "neg": lambda t: O.neg(t["x"]),
    "pad": lambda t: O.pad(t["x"], ((1, 2), (0, 3)), value=1),
    "reduce_max": lambda t: O.reduce_max(t["x"], axes=(1,)),
    "reduce_mean": lambda t: O.reduce_mean(t["x"], axes=(0,)),
    "reduce_min": lambda t: O.reduce_min(t["x"], axes=(0, 1)),
    "reduce_sum": lambda t: O.reduce_sum(t["x"], axes=(1,), keepdims=True),
    "relu": lambda t: O.relu(t["x"]),
    "reshape": lambda t: O.reshape(t["x"], (7, 5)),
    "sigmoid": lambda t: O.sigmoid(t["x"]),
    "slice": lambda t: O.slice(t["x"], (0, 1), (5, 7), (2, 3)),
    "softmax": lambda t: O.softmax(t["x"], axis=0),
    "sqrt": lambda t: O.sqrt(t["ones"]),
    "sub": lambda t: O.sub(t["x"], t["y"]),
    "tanh": lambda t: O.tanh(t["x"]),
    "transpose": lambda t: O.transpose(t["x"]),
    "unpad": lambda t: O.unpad(t["x"], ((1, 1), (2, 0))),
    "where": lambda t: O.where(t["condition"], t["x"], t["y"]),
}
INDICES = np.array([[0, 2, 4, 1], [3, 3, 0, 1]])
"""Rows of `x`, and columns."""


def _indices(shape: tuple[int, ...] = (2, 4)) -> Tensor:
    return O.tensor(shape, "int64", const=np.ascontiguousarray(np.resize(INDICES, shape)))


def _signs(t: Mapping[str, Tensor]) -> Tensor:
    return O.sub(t["ones"], t["ones"])


EVERY_OPERATOR |= {
    "abs": lambda t: O.abs(t["x"]),
    "acos": lambda t: O.acos(_signs(t)),
    "acosh": lambda t: O.acosh(t["ones"]),
    "argmax": lambda t: O.argmax(t["x"], axis=1),
    "argmin": lambda t: O.argmin(t["x"], axis=0, last=True),
    "asin": lambda t: O.asin(_signs(t)),
    "asinh": lambda t: O.asinh(t["x"]),
    "atan": lambda t: O.atan(t["x"]),
    "atanh": lambda t: O.atanh(_signs(t)),
    "bit_cast": lambda t: O.bit_cast(t["x"], "uint32"),
    "bitwise_and": lambda t: O.bitwise_and(t["x"], t["y"]),
    "bitwise_not": lambda t: O.bitwise_not(t["x"]),
    "bitwise_or": lambda t: O.bitwise_or(t["x"], t["y"]),
    "bitwise_xor": lambda t: O.bitwise_xor(t["x"], t["y"]),
    "ceil": lambda t: O.ceil(t["x"]),
    "conv3d": lambda t: O.conv3d(t["volume"], t["cube"], stride=(1, 2, 1)),
    "cos": lambda t: O.cos(t["x"]),
    "cosh": lambda t: O.cosh(_signs(t)),
    "cumprod": lambda t: O.cumprod(t["ones"], axis=1, reverse=True),
    "cumsum": lambda t: O.cumsum(t["x"], axis=0, exclusive=True),
    "dilate": lambda t: O.dilate(t["x"], (2, 3)),
    "einsum": lambda t: O.einsum("ij,kj->ik", t["x"], t["y"]),
    "equal": lambda t: O.equal(t["x"], t["y"]),
    "erf": lambda t: O.erf(t["x"]),
    "expand": lambda t: O.expand(t["row"], (3, 7)),
    "flip": lambda t: O.flip(t["x"], axes=1),
    "floor": lambda t: O.floor(t["x"]),
    "fmod": lambda t: O.fmod(t["x"], t["ones"]),
    "gather": lambda t: O.gather(t["x"], _indices()),
    "gather_elements": lambda t: O.gather_elements(t["x"], _indices((5, 7))),
    "gather_nd": lambda t: O.gather_nd(t["x"], _indices((3, 2))),
    "greater": lambda t: O.greater(t["x"], t["y"]),
    "greater_equal": lambda t: O.greater_equal(t["x"], t["y"]),
    "is_inf": lambda t: O.is_inf(t["x"]),
    "is_nan": lambda t: O.is_nan(t["x"]),
    "less": lambda t: O.less(t["x"], t["y"]),
    "less_equal": lambda t: O.less_equal(t["x"], t["y"]),
    "logical_not": lambda t: O.logical_not(t["condition"]),
    "not_equal": lambda t: O.not_equal(t["x"], t["y"]),
    "pad_mirrored": lambda t: O.pad_mirrored(t["x"], ((1, 2), (3, 0))),
    "pow": lambda t: O.pow(t["ones"], t["ones"]),
    "reduce_prod": lambda t: O.reduce_prod(t["ones"], axes=1),
    "remainder": lambda t: O.remainder(t["x"], t["ones"]),
    "resample": lambda t: O.resample(t["x"], _indices((3, 2)), t["weights"]),
    "reverse_sequence": lambda t: O.reverse_sequence(t["x"], _indices((7,))),
    "round": lambda t: O.round(t["x"]),
    "quantize": lambda t: O.quantize(t["x"], 0.25, zero_point=-2),
    "dequantize": lambda t: O.dequantize(t["x"], 0.25, zero_point=-2),
    "requantize": lambda t: O.requantize(t["x"], 0.25, zero_point=-2),
    "rsqrt": lambda t: O.rsqrt(t["ones"]),
    "scan": lambda t: O.scan(lambda state, row: O.maximum(state, row), t["row"], t["x"]),
    "scatter_elements": lambda t: O.scatter_elements(t["x"], _indices((1, 7)), t["line"]),
    "scatter_nd": lambda t: O.scatter_nd(t["x"], _indices((2, 1)), t["rows"]),
    "shift_left": lambda t: O.shift_left(t["x"], t["ones"]),
    "shift_right": lambda t: O.shift_right(t["x"], t["ones"]),
    "sign": lambda t: O.sign(t["x"]),
    "softmax_share": lambda t: apply(SoftmaxShare(), t["x"], t["ones"]),
    "silu": lambda t: O.silu(t["x"]),
    "sin": lambda t: O.sin(t["x"]),
    "sinh": lambda t: O.sinh(_signs(t)),
    "tan": lambda t: O.tan(_signs(t)),
    "tile": lambda t: O.tile(t["x"], (2, 1)),
    "topk": lambda t: O.topk(t["x"], 3)[0],
    "trilu": lambda t: O.trilu(t["x"], diagonal=1),
    "trunc": lambda t: O.trunc(t["x"]),
    "trunc_div": lambda t: O.trunc_div(t["x"], t["ones"]),
}
_SHAPES = {
    "volume": (1, 3, 5, 4, 2),
    "cube": (2, 2, 2, 2, 3),
    "weights": (3, 2),
    "line": (1, 7),
    "rows": (2, 7),
    "x": (5, 7),
    "y": (5, 7),
    "ones": (5, 7),
    "row": (7,),
    "image": (2, 6, 7, 3),
    "filter": (2, 3, 3, 4),
    "condition": (5, 7),
}


TYPES = (
    ALL
    if settings().max_examples > 100
    else ("float16", "bfloat16", "float32", "int8", "uint32", "bool")
)
"""The types of tests of every operator: in a long run all, else one of each kind of code."""


def every_operator(dtype: str) -> tuple[Graph, dict[str, Array]]:
    """A graph of every operator that takes `dtype`, one output each, and its inputs."""
    makes = [make for make in EVERY_OPERATOR.values() if _takes(make, dtype)]
    with O.graph(name="every_operator") as gb:
        tensors = _Inputs(dtype)
        O.outputs(*[make(tensors) for make in makes])
    arrays = {}
    for position, tensor in enumerate(gb.graph.inputs):
        array = data(tensor.type.sizes, tensor.dtype, seed=position)
        arrays[str(tensor.name)] = array if tensor.name != "ones" else np.ones_like(array)
    return gb.graph, arrays


class _Inputs(dict[str, Tensor]):
    """Inputs of the graph, declared when they are first used."""

    def __init__(self, dtype: str) -> None:
        super().__init__()
        self._dtype = dtype

    def __missing__(self, name: str) -> Tensor:
        dtype = "bool" if name == "condition" else self._dtype
        self[name] = O.tensor(_SHAPES[name], dtype, name=name)
        return self[name]


def _takes(make: Make, dtype: str) -> bool:
    """Whether an operator's type rule accepts `dtype`."""
    try:
        with O.graph(name="trial"):
            make(_Inputs(dtype))
    except UserError:
        return False
    return True
