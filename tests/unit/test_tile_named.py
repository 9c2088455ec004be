# SPDX-License-Identifier: Apache-2.0
"""Tiles with several names, as with NumPy's arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.unit import tile_named

X = np.arange(tile_named.SIZE, dtype=np.float32)


def run(program: Any, n: int) -> list[Any]:
    """The result of a kernel, in the interpreter and on the simulator."""
    found = []
    for runs in (program.check, program):
        y = np.zeros_like(X)
        runs(n, X, y)
        found.append(y)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "kernel", ["InMethod", "OtherName", "Cast", "Attribute", "Replaced", "Elements"]
)
def test_a_tile_is_changed_under_each_of_its_names(kernel: str) -> None:
    for found in run(getattr(tile_named, kernel)(), 3):
        np.testing.assert_array_equal(found, X + 4)


@pytest.mark.slow
def test_whole_dimensions_beside_an_index() -> None:
    expected = X.reshape(8, 8).copy()
    expected[0] += 1
    for found in run(tile_named.Sliced(), 0):
        np.testing.assert_array_equal(found.reshape(8, 8), expected.T)
