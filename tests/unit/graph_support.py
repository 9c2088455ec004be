# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of graphs: a small graph, operators for tests, checks of error locations."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import xtc.ops as O
from xtc.core.errors import UserError
from xtc.core.location import SourceLocation
from xtc.core.types import TensorType
from xtc.graph.graph import Graph
from xtc.graph.operator import Array, Operator
from xtc.graph.tensor import Tensor
from xtc.ir.builders.linalg import LinalgBuilder, Loop, Value


def here() -> int:
    """The caller's line."""
    return sys._getframe(1).f_lineno


def fails(function: Callable[[], object], message: str, line: int) -> UserError:
    """Check that `function` raises a UserError with `message` at `line` of the test's file."""
    with pytest.raises(UserError) as info:
        function()
    assert message in str(info.value)
    assert isinstance(info.value.where, SourceLocation)
    assert Path(info.value.where.file).name == Path(sys._getframe(1).f_code.co_filename).name
    assert info.value.where.line == line
    return info.value


def float_input(*shape: int | str, name: str | None = None) -> Tensor:
    return O.tensor(shape, "float32", name)


@dataclass(frozen=True)
class Scale(Operator):
    """An operator that accepts any attributes."""

    name: ClassVar[str] = "scale"
    factors: object = ()

    def infer(self, *inputs: TensorType) -> TensorType:
        return inputs[0]

    def reference(self, *arrays: Array) -> Array:
        return arrays[0]

    def emit(self, builder: LinalgBuilder, inputs: Sequence[Value], result: TensorType) -> Value:
        raise NotImplementedError

    def loops(self, *inputs: TensorType) -> tuple[Loop, ...]:
        return ()


class AtMostFour(Scale):
    """Refuses operands with more than four rows, once their number is known."""

    def infer(self, *inputs: TensorType) -> TensorType:
        if inputs[0].is_static and inputs[0].sizes[0] > 4:
            raise UserError("more than four rows")
        return inputs[0]


def two_layers() -> Graph:
    x = O.tensor(("n", 4), "float32", name="x", device="null0")
    w = O.tensor((4, 3), "float32", name="w", const=np.ones((4, 3), np.float32))
    with O.graph(name="two_layers") as gb:
        h = O.matmul(x, w, name="h", device="null0")
        O.relu(h, name="y")
    return gb.graph
