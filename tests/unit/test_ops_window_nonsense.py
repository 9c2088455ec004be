# SPDX-License-Identifier: Apache-2.0
"""Windows and data movement: any attribute gives a UserError or a type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import xtc.ops as O
from xtc.core.errors import UserError
from xtc.core.types import tensor_type
from xtc.graph import known_operators
from xtc.graph.operator import Operator
from xtc.ops.avg_pool2d import AvgPool2d
from xtc.ops.concat import Concat
from xtc.ops.conv2d import Conv2d
from xtc.ops.gemv import Gemv
from xtc.ops.max_pool2d import MaxPool2d
from xtc.ops.pad import Pad
from xtc.ops.reshape import Reshape
from xtc.ops.slice import Slice
from xtc.ops.transpose import Transpose
from xtc.ops.unpad import Unpad

NONSENSE: list[Any] = [
    *("x", "", b"11", 1.5, float("nan"), 10**30, -(10**5000), (), (9,), (0, -1), ("a", "b")),
    *((None, None), ((1,), (2,)), ((1, 2), None), {}, {"a": 1}, object(), (10**30, 1), True),
]
WRITTEN: list[Callable[[Any], Operator]] = [
    lambda value: Gemv(value),
    lambda value: Conv2d(stride=value),
    lambda value: Conv2d(padding=value),
    lambda value: Conv2d(padding=((0, 0), value)),
    lambda value: Conv2d(dilation=value),
    lambda value: Conv2d(groups=value),
    lambda value: MaxPool2d(value, (1, 1)),
    lambda value: MaxPool2d((2, 2), value),
    lambda value: MaxPool2d((2, 2), (1, 1), value),
    lambda value: MaxPool2d((2, 2), (1, 1), dilation=value),
    lambda value: AvgPool2d((2, 2), (1, 1), count_include_pad=(value,)),
    lambda value: Pad(value),
    lambda value: Pad(((0, 0), (0, 0), value, (0, 0))),
    lambda value: Unpad(((0, 0), value, (0, 0), (0, 0))),
    lambda value: Reshape(value),
    lambda value: Reshape((value, 256)),
    lambda value: Transpose(value),
    lambda value: Transpose((0, value, 2, 3)),
    lambda value: Concat((value,)),
    lambda value: Slice(value, (4, 4, 4, 4), (1, 1, 1, 1)),
    lambda value: Slice((0, 0, 0, 0), value, (1, 1, 1, 1)),
    lambda value: Slice((0, 0, 0, 0), (4, value, 4, 4), (1, 1, 1, 1)),
    lambda value: Slice((0, 0, 0, 0), (4, 4, 4, 4), value),
]


@pytest.mark.parametrize("written", WRITTEN)
def test_arbitrary_attributes_of_a_file(written: Callable[[Any], Operator]) -> None:
    """Some wrong values are valid by chance: True is a flag, but not a count of 1."""
    image = tensor_type((4, 4, 4, 4), "float32")
    for value in NONSENSE:
        op = written(value)
        if isinstance(op, Gemv) and value is True:
            continue
        operands = [image] * (2 if isinstance(op, Conv2d | Concat | Gemv) else 1)
        with pytest.raises(UserError, match=f"{op.name}|1 TiB"):
            op.infer(*operands)


def _pad(x: Any, value: Any) -> Any:
    """The borders of some dimensions, from a mapping; of none if it is empty."""
    return O.pad(x, value)


@pytest.mark.parametrize(
    "write",
    [
        lambda x, value: O.conv2d(x, x, stride=value),
        lambda x, value: O.conv2d(x, x, padding=(value,)),
        lambda x, value: O.conv2d(x, x, padding=(value, value)),
        lambda x, value: O.conv2d(x, x, dilation=value),
        lambda x, value: O.conv2d(x, x, groups=value),
        lambda x, value: O.max_pool2d(x, value),
        lambda x, value: O.avg_pool2d(x, 2, stride=(value, 1)),
        _pad,
        lambda x, value: O.pad(x, (0, value, 0, 0)),
        lambda x, value: O.pad(x, (0, 0, 0, 0), value=(value,)),
        lambda x, value: O.unpad(x, (0, value, 0, 0)),
        lambda x, value: O.reshape(x, value),
        lambda x, value: O.transpose(x, value),
        lambda x, value: O.concat(x, x, axis=(value,)),
        lambda x, value: O.slice(x, value, None),
        lambda x, value: O.slice(x, None, None, (value, 1, 1, 1)),
    ],
)
def test_arbitrary_attributes_of_a_user(write: Callable[[Any, Any], Any]) -> None:
    x = O.tensor((4, 4, 4, 4), name="x")
    for value in NONSENSE:
        if value == {} and write is _pad:
            continue
        with pytest.raises(UserError) as caught, O.graph():
            write(x, value)
        assert "test_ops_window_nonsense.py" in str(caught.value)


@pytest.mark.parametrize(
    "op",
    [
        *(Gemv(), Conv2d(), MaxPool2d((1, 1), (1, 1)), AvgPool2d((1, 1), (1, 1)), Pad(())),
        *(Unpad(()), Reshape(()), Transpose(()), Slice((), (), ()), Concat()),
    ],
    ids=lambda op: op.name,
)
def test_a_wrong_number_of_operands(op: Operator) -> None:
    assert type(op) is known_operators.operator(op.name)
    with pytest.raises(UserError, match=f"{op.name} takes .* not 0"):
        op.infer()
