# SPDX-License-Identifier: Apache-2.0
"""A tile kernel that calls functions of all kinds, with control flow on run-time numbers."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

from xtc import tile
from xtc.tile import int32, uint32


def collatz(n):
    """The number of steps from n to 1."""
    steps: int32 = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def first_positive(*numbers):
    head, *others = numbers
    if head > 0:
        return head
    return first_positive(*others) if others else 0


def applied(function, x):
    return function(x)


def ended(constant: bool) -> int:
    """Runs as Python, since it gets no run-time number: a bare return ends only this."""
    if constant:
        return
    raise ValueError


class Pair(NamedTuple):
    """Two numbers."""

    a: Any
    b: Any

    def total(self):
        return self.a + self.b


@dataclass
class Limit:
    """A constant with a method."""

    most: int

    def clamped(self, n):
        if n > self.most:
            return self.most
        return n


class Ring(tile.Class):
    """A slot and its phase; a constant takes the place of a run-time number."""

    def __init__(self, slots):
        self.slots = slots
        self.slot: int32 = 0
        self.phase: uint32 = 0

    def step(self):
        self.slot += 1
        if self.slot == self.slots:
            self.slot = 0
            self.phase ^= 1


class Functions(tile.Script):
    """Results of functions, one per element."""

    COUNT = 17
    doubled = lambda self, x: x * 2  # noqa: E731

    @staticmethod
    def below(n):
        total: int32 = 0
        for i in range(n):
            total += i
        return total

    @classmethod
    def product(cls, n):
        total: int32 = cls.COUNT
        for _ in range(n):
            total *= 2
        return total

    @property
    def next_block(self):
        return self.blockIdx.x + 1 if self.blockIdx.x >= 0 else 0

    def __call__(self, n: int32, y_ptr: ~int32):
        self.attrs.blocks = 1
        self.attrs.warps = 1
        y = self.global_view(y_ptr, dtype=int32, shape=[self.COUNT])

        def put(number, value=5, *, plus=0):
            number_tile = self.register_tensor(dtype=int32, shape=[1], init=value + plus)
            self.store_global(y, number_tile, offsets=[number])

        def factorial(x):
            found: int32 = 1
            for i in range(1, x + 1):
                found *= i
            return found

        def sign(x):
            if x > 2:
                return 1
            return -1

        ended(True)
        put(0)
        put(1, value=factorial(n))
        put(2, sign(n), plus=1)
        for i in range(3, 5):

            def shifted(x, *others, off=i):
                return x * x + off + len(others)

            put(i, shifted(i, 0, 0))
        put(5, functools.partial(collatz)(27))
        pair = Pair(n, n + 1)
        for _ in range(n):
            pair = Pair(pair.a + 1, pair.b)
        if n > 3:
            pair = Pair(pair.b, pair.a)
        put(6, pair.total())
        put(7, pair.a)
        put(8, Limit(3).clamped(n))
        put(9, applied(sign, n))
        put(10, self.doubled(n))
        put(11, sum(map(sign, [n, n, n])))
        put(12, self.below(n))
        put(13, self.product(n))
        put(14, self.next_block)
        ring = Ring(3)
        for _ in range(n):
            ring.step()
        put(15, ring.slot * 10 + self.cast(ring.phase, int32))
        put(16, first_positive(n - 10, n - 9, n + 3, n))
