# SPDX-License-Identifier: Apache-2.0
"""Tile kernels whose loops and blocks follow flags run and pass the check."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.tile_flags import LastBlock, Shape, WorkQueue
from xtc.tile.interpreter.report import RaceError

pytestmark = pytest.mark.slow


def test_a_loop_whose_condition_turns_into_data() -> None:
    """The kernel's parameters are in a record that has no hash."""
    program = WorkQueue(Shape())
    for run in (program.check, program):
        x, counter = np.arange(500, dtype=np.float32), np.zeros(1, np.int32)
        run(500, counter, x)
        np.testing.assert_array_equal(x, 2 * np.arange(500))
        assert counter[0] == 8 + 3


def test_the_last_block_resets_the_counter() -> None:
    """Whoever acquires a counter has seen the accesses that released it."""
    x, program = np.arange(1000, dtype=np.float32), LastBlock()
    for run in (program.check, program):
        y, counter = np.zeros(1, np.float32), np.zeros(1, np.int32)
        run(1000, counter, x, y)
        assert (y[0], counter[0]) == (x.sum(), 0)


@pytest.mark.parametrize("order", ["relaxed", "release", "acquire"])
def test_a_counter_that_orders_nothing(order: str) -> None:
    x, y, counter = (np.zeros(size, kind) for size, kind in ((1000, "f4"), (1, "f4"), (1, "i4")))
    with pytest.raises(RaceError, match="another block of the launch has written"):
        LastBlock(order).check(1000, counter, x, y)
