# SPDX-License-Identifier: Apache-2.0
"""Tile kernels with loops and thread groups that end early."""

from __future__ import annotations

import math

from xtc import tile
from xtc.tile import float32, int32


class Nested(tile.Script):
    """Counts iterations of nested loops that break and continue."""

    def __call__(self, n: int32, y_ptr: ~int32):
        self.attrs.blocks = 1
        self.attrs.warps = 1
        count: int32 = 0
        i: int32 = 0
        while i < 4:
            i += 1
            j: int32 = 0
            while j < 5:
                j += 1
                if j == i:
                    break
                if j == 2:
                    continue
                count += 1
            for k in self.range(5):
                if k > i:
                    break
                count += 10
            if i == n:
                break
        y = self.global_view(y_ptr, dtype=int32, shape=[1])
        self.store_global(y, self.register_tensor(dtype=int32, shape=[1], init=count), offsets=[0])


class Unrolled(tile.Script):
    """The same with unrolled loops, over constants and over numbers in memory."""

    def __call__(self, limit: int32, x_ptr: ~int32, y_ptr: ~int32):
        self.attrs.blocks = 1
        self.attrs.warps = 1
        x = self.global_view(x_ptr, dtype=int32, shape=[8])
        y = self.global_view(y_ptr, dtype=int32, shape=[3])
        constants: int32 = 0
        for k in [5, 1, 3, 2, 9]:
            if k == 1:
                continue
            if k == 2:
                break
            constants += k
        total: int32 = 0
        for i in self.range(8, unroll="all"):
            found = x[i].item()
            if found < 0:
                continue
            if total + found > limit:
                break
            total += found
        nested: int32 = 0
        for i, weight in enumerate([10, 20, 30]):
            for j in range(3):
                if j == i:
                    continue
                if x[j].item() == 99:
                    break
                nested += weight + j
            if nested > limit * 10:
                break
        for at, number in enumerate([constants, total, nested]):
            self.store_global(y, number, offsets=[at])


class Returning(tile.Script):
    """Marks the numbers below n that two loops visit, and 20 unless the kernel has returned."""

    def mark(self, y: tile.GlobalTensor, at: int32):
        self.store_global(y, self.register_tensor(dtype=int32, shape=[1], init=1), offsets=[at])

    def rows(self, y: tile.GlobalTensor, n: int32):
        at: int32 = 0
        for i in self.range(4):
            for j in self.range(4):
                if i * 4 + j == n:
                    break
                self.mark(y, i * 4 + j)
                at += 1
            if at == n:
                break
            self.mark(y, 16 + i)

    def __call__(self, n: int32, y_ptr: ~int32):
        self.attrs.blocks = 1
        self.attrs.warps = 1
        y = self.global_view(y_ptr, dtype=int32, shape=[21])
        self.rows(y, n)
        k: int32 = 0
        while k < 5:
            k += 1
            if k == n:
                return
        self.mark(y, 20)


class Marking(tile.Class):
    """A counter of marks, whose methods may end the kernel."""

    def __init__(self, y: tile.GlobalTensor):
        self.y = y
        self.at: int32 = 0

    def mark(self):
        mark = self.register_tensor(dtype=int32, shape=[1], init=1)
        self.store_global(self.y, mark, offsets=[self.at])
        self.at += 1

    def unless(self, condition: tile.boolean):
        if condition:
            return
        self.mark()
        return


class Ending(tile.Script):
    """Marks consecutive numbers until the kernel ends in a method; n determines where."""

    def rows(self, marking: Marking, n: int32):
        for i in self.range(2):
            for j in self.range(3):
                if i * 3 + j == n:
                    return
                marking.mark()
        marking.mark()

    def least(self, marking: Marking, n: int32):
        if n == 12:
            return  # noqa: RET502
        marking.mark()
        twice = n * 2
        tile_of = self.register_tensor(dtype=int32, shape=[1], init=twice)
        if n == 13:
            return twice + 1
        return twice + self.sum(tile_of, dim=0).unsqueeze(0).item()

    def __call__(self, n: int32, stop: bool, y_ptr: ~int32):
        self.attrs.blocks = 1
        self.attrs.warps = 1
        y = self.global_view(y_ptr, dtype=int32, shape=[24])
        marking = Marking(y)
        self.rows(marking, n)
        i: int32 = 0
        while i < 2:
            marking.unless(n == 7 + i)
            i += 1
        for number in (9, 10, 11):
            marking.unless(n == number)
        value = self.least(marking, n)
        self.store_global(y, self.register_tensor(dtype=int32, shape=[1], init=value), offsets=[22])
        marking.unless(stop)
        marking.mark()


class EndedInside(tile.Script):
    """A method that may end the kernel within a condition, beside another call: refused."""

    def tested(self, n: int32):
        if n > 3:
            return  # noqa: RET502
        return n

    def __call__(self, n: int32):
        self.attrs.blocks = 1
        self.attrs.warps = 1
        if self.tested(n) > 2:
            self.sync()


class NoneReturned(tile.Script):
    """A branch that returns None, which could mean either kind of return: refused."""

    def rows(self, n: int32):
        if n > 3:
            return None  # noqa: RET501
        self.sync()

    def __call__(self, n: int32):
        self.attrs.blocks = 1
        self.attrs.warps = 1
        self.rows(n)


class EndedInGroup(tile.Script):
    """A method that may end the kernel, called by a thread group: refused."""

    def tested(self, n: int32):
        if n > 3:
            return

    def __call__(self, n: int32):
        self.attrs.blocks = 1
        self.attrs.warps = 2
        with self.thread_group(0, 32):
            self.tested(n)
        self.sync()


class GroupLeft(tile.Script):
    """A thread group that returns: refused."""

    def __call__(self, n: int32):
        self.attrs.blocks = 1
        self.attrs.warps = 2
        with self.thread_group(0, 32):
            if n > 3:
                return
        self.sync()


class NumberFunctions(tile.Script):
    """Functions of Python's `math` on a run-time number."""

    def __call__(self, x: float32, y_ptr: ~float32):
        self.attrs.blocks = 1
        self.attrs.warps = 1
        y = self.global_view(y_ptr, dtype=float32, shape=[7])
        results = [math.trunc(x), math.trunc(-x), math.fabs(-x), math.pow(x, 2.0), math.tan(x)]
        results += [float32(math.isnan(x)), float32(math.isinf(x / 0.0))]
        for at, result in enumerate(results):
            made = self.register_tensor(dtype=float32, shape=[1], init=result)
            self.store_global(y, made, offsets=[at])


class NoFunction(tile.Script):
    """A function of `math` that kernels do not support."""

    def __call__(self, x: float32):
        self.attrs.blocks = 1
        self.attrs.warps = 1
        self.printf("%f", math.expm1(x))
