# SPDX-License-Identifier: Apache-2.0
"""Attributes of operators: values that users and files may write, and error messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from xtc.core.errors import UserError
from xtc.core.types import tensor_type
from xtc.graph import known_operators
from xtc.graph.operator import Operator
from xtc.ops import attributes as checks
from xtc.ops.cast import Cast
from xtc.ops.gelu import Gelu
from xtc.ops.layer_norm import LayerNorm
from xtc.ops.leaky_relu import LeakyRelu
from xtc.ops.matmul import Matmul
from xtc.ops.reduce_max import ReduceMax
from xtc.ops.reduce_mean import ReduceMean
from xtc.ops.reduce_sum import ReduceSum
from xtc.ops.softmax import Softmax

NONSENSE: list[Any] = [
    *("x", "", b"1", 1.5, float("nan"), 10**30, -(10**5000)),
    *((), (9,), (0, 0), ("a",), (None,), {}, {"a": 1}, object()),
]


def nested(value: Any) -> Any:
    return (value,)


@pytest.mark.parametrize(
    ("check", "value", "canonical"),
    [
        (checks.check_flag, np.True_, True),
        (checks.check_int, np.int64(3), 3),
        (checks.check_real, np.float32(0.5), 0.5),
        (checks.check_real, 2, 2.0),
        (checks.check_ints, [1, np.int8(2)], (1, 2)),
        (checks.check_ints, range(3), (0, 1, 2)),
        (checks.check_pair, 2, (2, 2)),
        (checks.check_pair, [1, 2], (1, 2)),
    ],
)
def test_values_become_plain_data(check: Callable[..., Any], value: Any, canonical: Any) -> None:
    found = check("op", "attribute", value)
    assert found == canonical
    assert type(found) is type(canonical)


@pytest.mark.parametrize(
    ("value", "rank", "axes"),
    [
        (None, 3, (0, 1, 2)),
        (None, 0, ()),
        (-1, 3, (2,)),
        ((2, 0), 3, (2, 0)),
        ([-3, 1], 3, (0, 1)),
        ((), 2, ()),
    ],
)
def test_axes_become_non_negative(value: Any, rank: int, axes: tuple[int, ...]) -> None:
    assert checks.check_axes("op", "axes", value, rank) == axes


def test_a_permutation_names_every_axis_once() -> None:
    assert checks.check_permutation("op", "axes", (-1, 0, 1), 3) == (2, 0, 1)
    with pytest.raises(UserError, match=r"axes of op is \(0, 1\), but the operand has rank 3"):
        checks.check_permutation("op", "axes", (0, 1), 3)
    with pytest.raises(UserError, match="names an axis twice"):
        checks.check_permutation("op", "axes", (0, 1, -2), 3)


@pytest.mark.parametrize(
    ("check", "value", "text"),
    [
        (
            lambda v: checks.check_flag("op", "keep", v),
            1,
            "keep of op is 1, neither True nor False",
        ),
        (lambda v: checks.check_int("op", "size", v), True, "size of op is True, not an integer"),
        (lambda v: checks.check_int("op", "size", v), 2.0, "size of op is 2.0, not an integer"),
        (
            lambda v: checks.check_int("op", "size", v),
            2**31,
            "size of op is 2147483648, beyond 2147483647",
        ),
        (lambda v: checks.check_int("op", "size", v, minimum=1), 0, "size of op is 0, less than 1"),
        (lambda v: checks.check_real("op", "eps", v), 10**400, "not a finite number"),
        (lambda v: checks.check_real("op", "eps", v), False, "eps of op is False, not a number"),
        (lambda v: checks.check_ints("op", "pads", v), "12", "pads of op is '12', not a sequence"),
        (lambda v: checks.check_ints("op", "pads", v), (1, "2"), r"pads\[1\] of op is '2', not an"),
        (lambda v: checks.check_pair("op", "stride", v), (1, 2, 3), "3 integers, not 2"),
        (
            lambda v: checks.check_pair("op", "stride", v, minimum=1),
            (1, 0),
            r"stride\[1\] of op is 0",
        ),
        (
            lambda v: checks.check_axis("op", "axis", v, 2),
            -3,
            "axis of op is -3, but the operand has",
        ),
        (lambda v: checks.check_axis("op", "axis", v, 0), 0, "has rank 0\n  note: it has no axes"),
        (lambda v: checks.check_choice("op", "mode", v, ("same", "valid")), "sam", "'same'"),
        (
            lambda v: checks.check_choice("op", "mode", v, ("same", "valid")),
            ["same"],
            "which is unknown",
        ),
    ],
)
def test_a_wrong_value_is_named(check: Callable[[Any], Any], value: Any, text: str) -> None:
    with pytest.raises(UserError) as caught:
        check(value)
    assert text.replace("\\", "") in str(caught.value)


@pytest.mark.parametrize("value", NONSENSE, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize(
    "operator",
    [
        lambda value: Cast(value),
        lambda value: Gelu(value),
        lambda value: LeakyRelu(nested(value)),
        lambda value: LayerNorm(value),
        lambda value: LayerNorm(-1, nested(value)),
        lambda value: LayerNorm(-1, 0.1, value),
        lambda value: Matmul(False, value),
        lambda value: ReduceSum(nested(value)),
        lambda value: ReduceMax(None, value),
        lambda value: ReduceMean(nested(value)),
        lambda value: Softmax(value),
    ],
)
def test_nonsense_in_a_loaded_graph_is_a_user_error(
    operator: Callable[[Any], Operator], value: Any
) -> None:
    op = operator(value)
    types = [tensor_type((4, 4), "float32")] * (2 if isinstance(op, Matmul) else 1)
    with pytest.raises(UserError, match=f"{op.name}|element type"):
        op.infer(*types)


@pytest.mark.parametrize(
    "name",
    [
        *("add", "cast", "div", "exp", "gelu", "layer_norm", "leaky_relu", "log", "matmul"),
        *("maximum", "minimum", "mul", "neg", "reduce_max", "reduce_mean", "reduce_min"),
        *("reduce_sum", "relu", "sigmoid", "softmax", "sqrt", "sub", "tanh", "where"),
    ],
)
@pytest.mark.parametrize("count", [0, 9])
def test_a_wrong_number_of_operands_is_a_user_error(name: str, count: int) -> None:
    with pytest.raises(UserError, match=rf"{name} takes .* not {count}"):
        known_operators.operator(name)().infer(*[tensor_type((4, 4), "float32")] * count)
