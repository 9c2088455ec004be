# SPDX-License-Identifier: Apache-2.0
"""Corner cases of tile kernels: names in loops, masks, views, and unusual sizes."""

from __future__ import annotations

from xtc import tile
from xtc.tile import boolean, float16, float32, int32


class Corner(tile.Script):
    """A block of one warp."""

    def begin(self, warps=1):
        self.attrs.blocks, self.attrs.warps = 1, warps

    def vector(self, pointer, dtype=float32, n=32):
        return self.global_view(pointer, dtype=dtype, shape=[n])

    def iota(self, n=32):
        return self.register_tensor(dtype=int32, shape=[n], init=lambda i: i)


class RowsOfADot(Corner):
    """Sums over the rows of a dot, at lane distances that are not powers of two."""

    def __call__(self, a_ptr: ~float32, b_ptr: ~float32, y_ptr: ~float32):
        self.begin(3)
        ga = self.global_view(a_ptr, dtype=float32, shape=[48, 16])
        gb = self.global_view(b_ptr, dtype=float32, shape=[16, 24])
        a = self.load_global(ga, offsets=[0, 0], shape=[48, 16])
        b = self.load_global(gb, offsets=[0, 0], shape=[16, 24])
        c = self.dot(a, b, acc_dtype=float32)
        self.store_global(self.vector(y_ptr, n=24), self.sum(c, dim=0), offsets=[0])


class UndividedReshaped(Corner):
    """A tile whose sizes are not divisible by the threads, in other shapes."""

    def __init__(self, shape: tuple[int, ...], to: tuple[int, ...]) -> None:
        super().__init__()
        self.shape, self.to = shape, to

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.begin()
        gx = self.global_view(x_ptr, dtype=float32, shape=self.shape)
        gy = self.global_view(y_ptr, dtype=float32, shape=self.to)
        x = self.load_global(gx, offsets=[0 for _ in self.shape], shape=self.shape)
        self.store_global(gy, self.reshape(x, self.to), offsets=[0 for _ in self.to])


class Undivided(Corner):
    """Three warps share tiles whose sizes are not divisible, in every kind of instruction."""

    def __init__(self, m: int, n: int) -> None:
        super().__init__()
        self.m, self.n = m, n

    def __call__(self, x_ptr: ~float32, at_ptr: ~int32, y_ptr: ~float32):
        self.begin(3)
        m, n = self.m, self.n
        gx = self.global_view(x_ptr, dtype=float32, shape=[m, n])
        gat = self.global_view(at_ptr, dtype=int32, shape=[m, n])
        at = self.load_global(gat, offsets=[0, 0], shape=[m, n])
        sx = self.shared_tensor(dtype=float32, shape=[m, n])
        self.copy_async(gx, sx, offsets=[0, 0])
        self.copy_async_wait_all()
        self.sync()
        x = self.load_shared(sx)
        self.store_global(
            self.vector(y_ptr, n=n), self.max(x, dim=0) + self.sum(x, dim=0), offsets=[0]
        )
        sums = self.shared_tensor(dtype=float32, shape=[m, n])
        self.store_shared(sums, self.cumsum(x, dim=1))
        self.sync()
        last = self.max(self.load_shared(sums), dim=1)
        rows = self.min(x, dim=1) + last * self.cast(self.all(x < 3.0, dim=1), dtype=float32)
        self.store_global(self.vector(y_ptr + n, n=m), rows, offsets=[0])
        product = self.dot(x, self.transpose(x), acc_dtype=float32)
        self.put(y_ptr + n + m, product)
        self.put(y_ptr + n + m + m * m, self.transpose(x))
        self.sync()
        self.store_shared(sums, self.register_tensor(dtype=float32, shape=[m, n], init=0.0))
        self.sync()
        self.atomic.shared_scatter_add(sums, dim=0, indices=at, values=x)
        self.sync()
        self.put(y_ptr + n + m + m * m + m * n, self.load_shared(sums))

    def put(self, pointer, tile):
        view = self.global_view(pointer, dtype=float32, shape=list(tile.shape))
        self.store_global(view, tile, offsets=[0, 0])


class Divided(Corner):
    """Quotients less remainders, of tiles or by a number."""

    def __init__(self, by_tile: bool) -> None:
        super().__init__()
        self.by_tile = by_tile

    def __call__(self, d: int32, a_ptr: ~int32, b_ptr: ~int32, y_ptr: ~int32):
        self.begin()
        a = self.load_global(self.vector(a_ptr, dtype=int32), offsets=[0], shape=[32])
        b = self.load_global(self.vector(b_ptr, dtype=int32), offsets=[0], shape=[32])
        by = b if self.by_tile else d
        self.store_global(self.vector(y_ptr, dtype=int32), a // by - a % by, offsets=[0])


class ChangedOrReplaced(Corner):
    """One branch updates a tile, the other one rebinds its name."""

    def __call__(self, n: int32, y_ptr: ~float32):
        self.begin()
        t = self.register_tensor(dtype=float32, shape=[32], init=1.0)
        for i in range(n):
            if i % 2 == 0:
                t = t + t
            else:
                t += 1.0
        self.store_global(self.vector(y_ptr), t, offsets=[0])


class Aliases(Corner):
    """Two names that may or may not refer to one tile, depending on a run-time number."""

    def __init__(self, case: str) -> None:
        super().__init__()
        self.case = case

    def __call__(self, n: int32, y_ptr: ~float32):
        self.begin()
        a = self.register_tensor(dtype=float32, shape=[32], init=1.0)
        b = self.register_tensor(dtype=float32, shape=[32], init=2.0)
        c = a
        if self.case == "same in both":
            pair = (b, a)
            if n > 1:
                pair = (a, b)
            first, _ = pair
            first += 1.0
        elif self.case == "copied":
            c = b
            c += 1.0
            b = a
            a += 4.0
        elif self.case == "branch":
            if n > 1:
                c = b
            c += 1.0
        elif self.case == "entry":
            for _ in range(n):
                c += 1.0
                c = c * 2.0
        elif self.case == "iteration":
            p = (b, a)
            for _ in range(n):
                first, _ = p
                first += 1.0
                p = (a, b)
        elif self.case == "not read":
            if n > 1:
                c = b
            c += 1.0
            a = c * 2.0
        self.store_global(self.vector(y_ptr), a + b, offsets=[0])


class TupleState(Corner):
    """A tuple of tiles and a number, through loops, branches, a method and an attribute."""

    def __init__(self, case: str) -> None:
        super().__init__()
        self.case = case

    def step(self, state, x):
        top, total, count = state
        return self.maximum(top, x), total + x, count + 1

    def __call__(self, n: int32, x_ptr: ~float32, y_ptr: ~float32):
        self.begin()
        gx = self.global_view(x_ptr, dtype=float32, shape=[n, 32])
        zero = self.register_tensor(dtype=float32, shape=[32], init=0.0)
        state = (zero - 100.0, zero, 0)
        held = Held(state)
        for i in range(n):
            x = self.load_global(gx, offsets=[i, 0], shape=[32], dims=[1])
            if self.case == "attribute":
                held.state = self.step(held.state, x)
            elif i % 2 == 0:
                state = self.step(state, x)
            else:
                top, total, count = state
                total += x
                state = (self.maximum(top, x), total, count + 1)
        top, total, count = held.state if self.case == "attribute" else state
        if self.case == "longer":
            for _ in range(n):
                state = (*state, 1)
        self.store_global(self.vector(y_ptr), top + total * float32(count), offsets=[0])


class Held(tile.Class):
    """Holds a tuple."""

    def __init__(self, state):
        self.state = state


class AtomicPart(Corner):
    """Atomic instructions on views with run-time sizes, the second one with an offset."""

    def __init__(self, offsets: bool) -> None:
        super().__init__()
        self.offsets = offsets

    def __call__(self, m: int32, x_ptr: ~int32, y_ptr: ~int32):
        self.begin()
        x = self.load_global(self.vector(x_ptr, dtype=int32), offsets=[0], shape=[32])
        y = self.vector(y_ptr, dtype=int32, n=m)
        if self.offsets:
            self.atomic.global_add(y, x, offsets=[4])
        self.atomic.global_max(y, x)
        part = self.global_view(~y[4], dtype=int32, shape=[m - 4])
        self.atomic.global_add(part, values=x)


class Transposed(Corner):
    """A transposed tile assigned to another one."""

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.begin()
        gx = self.global_view(x_ptr, dtype=float32, shape=[4, 8])
        gy = self.global_view(y_ptr, dtype=float32, shape=[8, 4])
        y = self.register_tensor(dtype=float32, shape=[8, 4])
        self.transpose(self.load_global(gx, offsets=[0, 0], shape=[4, 8]), out=y)
        self.store_global(gy, y, offsets=[0, 0])


class NameInTwoLoops(Corner):
    """A name that two loops assign, the second one after an early return."""

    def __call__(self, n: int32, y_ptr: ~float32):
        self.begin()
        y = self.vector(y_ptr)
        t = self.register_tensor(dtype=float32, shape=[32], init=1.0)
        for _ in range(n):
            f = t * 2
            t = f + 1
        if n > 5:
            return
        t = t + 1
        for _ in range(n):
            f = t + 1
            t += f
        self.store_global(y, t, offsets=[0])


class Swapped(Corner):
    """Two names of shared tensors are exchanged in a loop."""

    def __init__(self, right: bool) -> None:
        super().__init__()
        self.right = right

    def __call__(self, n: int32, y_ptr: ~float32):
        self.begin()
        a = self.shared_tensor(dtype=float32, shape=[32])
        b = self.shared_tensor(dtype=float32, shape=[32])
        if self.right:
            both = self.shared_tensor(dtype=float32, shape=[2, 32])
        for i in range(n):
            t = self.register_tensor(dtype=float32, shape=[32], init=1.0)
            if self.right:
                a = both[i % 2]
            self.store_shared(a, t + i)
            if not self.right:
                a, b = b, a
        self.sync()
        last = both[1] if self.right else b
        self.store_global(self.vector(y_ptr), self.load_shared(last), offsets=[0])


class Masks(Corner):
    def __call__(self, m_ptr: ~boolean, y_ptr: ~boolean):
        self.begin()
        m = self.load_global(self.vector(m_ptr, boolean), offsets=[0], shape=[32])
        few = self.sum(m) == 11
        some = self.max(m) == self.min(~m | m)
        found = ~m & (self.iota() > 3) & few & some
        self.store_global(self.vector(y_ptr, boolean), found, offsets=[0])


class Shifts(Corner):
    def __call__(self, x_ptr: ~int32, k_ptr: ~int32, y_ptr: ~int32):
        self.begin()
        x = self.load_global(self.vector(x_ptr, int32), offsets=[0], shape=[32])
        k = self.load_global(self.vector(k_ptr, int32), offsets=[0], shape=[32])
        self.store_global(self.vector(y_ptr, int32), (x >> k) + (x << k), offsets=[0])


class Reshaped(Corner):
    """A row of a shared tensor in another shape, and -0.0 as an element."""

    def __call__(self, x_ptr: ~float32, y_ptr: ~float32):
        self.begin()
        x = self.load_global(self.vector(x_ptr), offsets=[0], shape=[32])
        s = self.shared_tensor(dtype=float32, shape=[2, 2, 8])
        self.store_shared(s, self.reshape(x, [2, 2, 8]))
        self.sync()
        first, *rest = [self.load_shared(self.reshape_shared(s, [4, 8])[row]) for row in range(3)]
        t = self.register_tensor(dtype=float32, shape=[32], init=1.0)
        t[0] = rest[1][7]
        t[1] = max([first[1].item(), rest[0][2].item(), 2.5])
        self.store_global(self.vector(y_ptr), t, offsets=[0])


class Many(tile.Script):
    def __call__(self, *pointers: ~float32):
        """Nothing."""


class Mistake(Corner):
    """A kernel to be refused, by its name."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def __call__(self, n: int32, f: float32, x_ptr: ~float32):
        self.begin()
        x = self.vector(x_ptr)
        t = self.load_global(x, offsets=[0], shape=[32])
        s = self.shared_tensor(dtype=float32, shape=[32])
        if self.name == "tile as an offset":
            self.load_global(x, offsets=[t], shape=[32])
        elif self.name == "float as an offset":
            self.load_global(x, offsets=[f], shape=[32])
        elif self.name == "float as a size":
            self.global_view(x_ptr, dtype=float32, shape=[f])
        elif self.name == "size below 0":
            self.global_view(x_ptr, dtype=float32, shape=[-4])
        elif self.name == "empty slice":
            s.slice([0], [0], [-4])
        elif self.name == "infinite integer":
            self.register_tensor(dtype=int32, shape=[32], init=float("inf"))
        elif self.name == "repeat":
            self.repeat(t, [-1])
        elif self.name == "assume":
            self.assume(t > 0)
        elif self.name == "max of Python":
            self.store_global(x, max(t), offsets=[0])
        elif self.name == "range":
            for _ in range(n, unroll=2):
                pass
        elif self.name == "type":
            self.shared_tensor(dtype=float, shape=[4])
        elif self.name == "key":
            self.store_global(x, {"k": t}["z"], offsets=[0])
        elif self.name == "unpacked":
            a, b = t
            self.store_global(x, a + b, offsets=[0])
        elif self.name == "text":
            self.static_assert(n is None, f"{1 / 3:.3f} {'a'!r}")
        elif self.name == "wgmma":
            a = self.shared_tensor(dtype=float16, shape=[64, 32])
            total = self.register_tensor(dtype=float32, shape=[64, 32])
            self.wgmma.mma(a, self.shared_tensor(dtype=float16, shape=[32, 32]), total)
