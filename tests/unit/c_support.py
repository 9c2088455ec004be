# SPDX-License-Identifier: Apache-2.0
"""What the tests of generated C share: the compilers there are, asked to complain of everything."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping

import numpy as np
import pytest

import xtc.ops as O
from tests.unit.ops_support import Array, data
from xtc.core.errors import UserError
from xtc.graph.graph import Graph
from xtc.graph.tensor import Tensor

STRICT = "-Wall -Wextra -Werror"
COMPILERS = tuple(name for name in ("gcc", "clang") if shutil.which(name)) or ("cc",)


@pytest.fixture(params=COMPILERS)
def strict_compiler(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """XTC_CC names each C compiler of this machine in turn, to which a warning is an error."""
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
_SHAPES = {
    "x": (5, 7),
    "y": (5, 7),
    "ones": (5, 7),
    "row": (7,),
    "image": (2, 6, 7, 3),
    "filter": (2, 3, 3, 4),
    "condition": (5, 7),
}


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
    """Whether an operator's type rule lets `dtype` in."""
    try:
        with O.graph(name="trial"):
            make(_Inputs(dtype))
    except UserError:
        return False
    return True
