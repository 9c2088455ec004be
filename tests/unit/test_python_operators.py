# SPDX-License-Identifier: Apache-2.0
"""Python's operators on tensors agree with NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xtc.ops as O
from xtc.core.errors import UserError

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4) + 1
ROW = np.array([1, 2, 3, 4], np.float32)


@pytest.mark.parametrize(
    "formula",
    [
        lambda x: x + 1,
        lambda x: 1 - x,
        lambda x: 2 * x / 4,
        lambda x: 1 / x,
        lambda x: -x,
        lambda x: x + ROW,
        lambda x: ROW * x,
        lambda x: x @ ROW.reshape(4, 1),
        lambda x: x[0],
        lambda x: x[-1, 1:, ::2],
        lambda x: x[..., 2],
        lambda x: x[:, None, 1],
        lambda x: x[1, 2, 3],
    ],
)
def test_operators(formula: Callable[[Any], Any]) -> None:
    with O.graph() as gb:
        y = formula(O.tensor(X.shape, name="x"))
        O.outputs(O.neg(y))
    np.testing.assert_allclose(gb.graph.evaluate(X), -formula(X), rtol=1e-6)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        (lambda x: x[2], "index 2 of a dimension of size 2"),
        (lambda x: x["a"], "'a' is not an index of a tensor"),
        (lambda x: x[0, 0, 0, 0], "4 indices of a tensor of rank 3"),
        (lambda x: x + "a", "an operand of add is str, not a tensor"),
    ],
)
def test_mistakes(formula: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(UserError, match=message), O.graph():
        formula(O.tensor(X.shape, name="x"))
