# SPDX-License-Identifier: Apache-2.0
"""Methods that return a value from a loop."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.tile_returns import KernelReturns, NoneAtTheEnd, NoneInTheLoop, OtherType, Returns
from xtc.core.errors import UserError


def in_python(n: int, x: list[int]) -> list[int]:
    """The same numbers."""

    def find(wanted: int) -> int:
        return next((i for i in range(n) if x[i] == wanted), -1)

    def nested() -> int:
        for i in range(n):
            for j in range(i):
                if i * j > 10:
                    return i * 100 + j
            if i > 50:
                return 1
        return 0

    def pair() -> tuple[int, int]:
        total = 0
        for i in range(n):
            total += x[i]
            if total > 50:
                return i, total
        return n, 0

    def doubled() -> int:
        total = 4
        for _ in range(n if n > 2 else 0):
            total *= 2
            if total > 100:
                return total
        return 0 if n > 2 else total + 20

    return [find(7), find(99), nested(), 32, n + 3 - n % 3, *pair(), doubled()]


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 4, 5, 20])
def test_methods_return_from_loops(n: int) -> None:
    program = Returns()
    for run in (program.check, program):
        x, y = np.arange(3, 3 + n).astype(np.int32), np.zeros(8, np.int32)
        run(n, x, y)
        assert y.tolist() == in_python(n, x.tolist())


@pytest.mark.parametrize(
    ("program", "value"), [(NoneAtTheEnd, "None"), (NoneInTheLoop, "None"), (OtherType, "0.5")]
)
def test_a_loop_decides_between_values_of_one_type(program: type[Returns], value: str) -> None:
    with pytest.raises(UserError, match=f"a method returns {value} here, and a run-time int32"):
        program().compile(3, None, None)


def test_a_kernel_returns_nothing_from_a_loop_either() -> None:
    with pytest.raises(UserError, match="a kernel cannot return a value"):
        KernelReturns().compile(3)
