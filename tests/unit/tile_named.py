# SPDX-License-Identifier: Apache-2.0
"""Tile kernels in which several names refer to a tile that is updated through one of them."""

from __future__ import annotations

from xtc import tile
from xtc.tile import RegisterTensor, float32, int32, uint32

SIZE = 64


class Named(tile.Script):
    """y = a function of x, of `SIZE` elements."""

    def __call__(self, n: int32, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks = 1
        self.attrs.warps = 1
        x = self.global_view(x_ptr, dtype=float32, shape=[SIZE])
        y = self.global_view(y_ptr, dtype=float32, shape=[SIZE])
        computed = self.computed(self.load_global(x, offsets=[0], shape=[SIZE]), n)
        self.store_global(y, computed, offsets=[0])

    def computed(self, x: RegisterTensor, n: int32) -> RegisterTensor:
        """What is stored."""
        return x


class InMethod(Named):
    """A method updates its caller's tile."""

    def computed(self, x: RegisterTensor, n: int32) -> RegisterTensor:
        self.raised(x, n)
        return x

    def raised(self, x: RegisterTensor, n: int32):
        """x += n, in a loop, and one more in a branch."""
        for _ in range(n):
            x += 1.0
        if n > 2:
            x += 1.0


class OtherName(Named):
    """A loop updates a tile that has another name."""

    def computed(self, x: RegisterTensor, n: int32) -> RegisterTensor:
        same = x
        while n >= 0:
            same += 1.0
            n -= 1
        return x


class Cast(Named):
    """An instruction returns a new tile, even if it changes nothing."""

    def computed(self, x: RegisterTensor, n: int32) -> RegisterTensor:
        other = x.to(float32)
        other += 1.0
        return x + n + 1.0


class Held(tile.Class):
    """Holds a tile and a number."""

    def __init__(self):
        self.total = self.register_tensor(dtype=float32, shape=[SIZE], init=0.0)
        self.count: int32 = 0

    def doubled(self):
        """Rebind the attribute to a new tile."""
        self.total = self.total * 2.0
        self.count += 1


class Attribute(Named):
    """A loop updates the tile of an attribute through a local name."""

    def computed(self, x: RegisterTensor, n: int32) -> RegisterTensor:
        held = Keeps()
        total = held.total
        for _ in range(n + 1):
            total += 1.0
        return x + held.total


class Keeps(tile.Class):
    """Holds a tile that is never rebound."""

    def __init__(self):
        self.total = self.register_tensor(dtype=float32, shape=[SIZE], init=0.0)


class Replaced(Named):
    """A method rebinds an attribute in each iteration: for n = 3, 14 in the end."""

    def computed(self, x: RegisterTensor, n: int32) -> RegisterTensor:
        held = Held()
        for _ in range(n):
            held.total += 1.0
            held.doubled()
        return x + held.total - 10.0 + float32(held.count - n)


class Elements(Named):
    """Loops and branches update the elements of lists, and attributes of the kernel's object."""

    def computed(self, x: RegisterTensor, n: int32) -> RegisterTensor:
        phases = [uint32(0), uint32(1)]
        tiles = {"one": x, "two": x * 0.0}
        self.sum = n * 0
        for number in range(n):
            phases[0] = phases[0] ^ 1
            tiles["two"] = tiles["two"] + 1.0
            self.sum = self.sum + number
        if n > 2:
            self.sum = self.sum - 2
        return tiles["one"] + tiles["two"] + float32(phases[0]) + float32(self.sum) - 1.0


class Sliced(Named):
    """Whole dimensions beside an index, of all three kinds of tensors."""

    def __call__(self, n: int32, x_ptr: ~float32, y_ptr: ~float32):
        self.attrs.blocks = 1
        self.attrs.warps = 1
        x = self.global_view(x_ptr, dtype=float32, shape=[8, 8])
        y = self.global_view(y_ptr, dtype=float32, shape=[8, 8])
        s = self.shared_tensor(dtype=float32, shape=[8, 8])
        columns = self.register_tensor(dtype=float32, shape=[8, 8])
        for number in self.range(8, unroll="all"):
            columns[:, number] = self.load_global(x[:, number], offsets=[0], shape=[8])
        columns[0, :] = columns[0, :] + 1.0
        self.store_shared(s, columns)
        self.sync()
        for number in range(8):
            row = self.load_shared(s[:, number])
            self.store_global(y[number, :], row + columns[:, 0] * 0.0, offsets=[0])
