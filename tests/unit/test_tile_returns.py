# SPDX-License-Identifier: Apache-2.0
"""Methods that return a value from a loop."""

from __future__ import annotations

import numpy as np
import pytest

from xtc import tile
from xtc.core.errors import UserError
from xtc.tile import int32


class Returns(tile.Script):
    """Methods that return from loops of run time, and from one that is written out."""

    def __call__(self, n: int32, x_ptr: ~int32, y_ptr: ~int32):
        self.attrs.blocks = 1
        self.attrs.warps = 1
        x = self.global_view(x_ptr, dtype=int32, shape=[n])
        y = self.global_view(y_ptr, dtype=int32, shape=[8])
        a, b = self.pair(x, n, 50)
        t = self.doubled(x, n)
        out = [
            self.find(x, n, 7),
            self.find(x, n, 99),
            self.nested(n),
            self.power(20),
            self.forever(n),
            a,
            b,
            self.sum(t),
        ]
        for i, v in enumerate(out):
            self.store_global(y, self.register_tensor(dtype=int32, shape=[1], init=v), offsets=[i])

    def find(self, x, n, wanted):
        for i in range(n):
            if x[i].item() == wanted:
                return i
        return -1

    def nested(self, n):
        for i in range(n):
            for j in range(i):
                if i * j > 10:
                    return i * 100 + j
            if i > 50:
                return 1
        return 0

    def power(self, n):
        p = 1
        while True:
            if p >= n:
                return p
            p *= 2

    def forever(self, n):
        i: int32 = 0
        while True:
            i += 3
            if i > n:
                return i

    def pair(self, x, n, limit):
        total: int32 = 0
        for i in range(n):
            total += x[i].item()
            if total > limit:
                return i, total
        return n, 0

    def doubled(self, x, n):
        t = self.register_tensor(dtype=int32, shape=[4], init=1)
        if n > 2:
            for _ in range(n):
                t = t * 2
                if self.sum(t).item() > 100:
                    return t
            return t * 0
        return t + 5


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


class NoneAtTheEnd(Returns):
    def find(self, x, n, wanted):  # noqa: RET503 (the mistake)
        for i in range(n):
            if x[i].item() == wanted:
                return i


class NoneInTheLoop(Returns):
    def find(self, x, n, wanted):
        for i in range(n):
            if x[i].item() == wanted:
                return None
        return 0


class OtherType(Returns):
    def find(self, x, n, wanted):
        for i in range(n):
            if x[i].item() == wanted:
                return i
        return 0.5


@pytest.mark.parametrize(
    ("program", "value"), [(NoneAtTheEnd, "None"), (NoneInTheLoop, "None"), (OtherType, "0.5")]
)
def test_a_loop_decides_between_values_of_one_type(program: type[Returns], value: str) -> None:
    with pytest.raises(UserError, match=f"a method returns {value} here, and a run-time int32"):
        program().compile(3, None, None)


class KernelReturns(tile.Script):
    def __call__(self, n: int32):  # noqa: RET503 (the mistake)
        self.attrs.blocks = 1
        self.attrs.warps = 1
        for i in range(n):
            if i > 3:
                return i


def test_a_kernel_returns_nothing_from_a_loop_either() -> None:
    with pytest.raises(UserError, match="a kernel returns nothing"):
        KernelReturns().compile(3)
