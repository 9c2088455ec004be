# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""Mistakes in kernels have a line, a caret and a hint."""

from xtc import tile
from xtc.core.errors import UserError
from xtc.tile import float16, float32, int32


class Base(tile.Script):
    def begin(self):
        self.attrs.blocks = 1
        self.attrs.warps = 4


class Shapes(Base):
    def __call__(self):
        self.begin()
        a = self.register_tensor(dtype=float16, shape=[16, 32])
        self.dot(a, a, acc_dtype=float32)


class Types(Base):
    def __call__(self):
        self.begin()
        a = self.register_tensor(dtype=float16, shape=[16, 16])
        self.dot(a, self.cast(a, dtype=float32), acc_dtype=float32)


class RunTime(Base):
    def __call__(self, n: int32):
        self.begin()
        if n:
            self.register_tensor(dtype=float16, shape=[n, 16])


class Statement(Base):
    def __call__(self):
        self.begin()
        try:
            self.sync()
        finally:
            pass


class Freed(Base):
    def __call__(self):
        self.begin()
        s = self.shared_tensor(dtype=float16, shape=[16, 16])
        self.free_shared(s)
        self.load_shared(s)


class Absent(Base):
    def __call__(self):
        self.begin()
        self.tcgen05.alloc()


class Large(Base):
    def __call__(self, p: ~float32):
        self.begin()
        s = self.shared_tensor(dtype=float32, shape=[256, 256])
        g = self.global_view(p, dtype=float32, shape=[256, 256])
        self.copy_async(g, s, offsets=[0, 0])


class Layouts(Base):
    def __call__(self):
        self.begin()
        t = self.register_tensor(dtype=float32, shape=[16, 16])
        self.annotate_layout(t, tile.layout.spatial(16, 8) * tile.layout.local(1, 2))
        u = t + 1
        self.annotate_layout(u, tile.layout.spatial(8, 16) * tile.layout.local(2, 1))


class Changes(Base):
    def __call__(self, n: int32):
        self.begin()
        t = self.register_tensor(dtype=float32, shape=[16])
        for _ in range(n):
            t = self.cast(t, dtype=float16)


for kernel in (Shapes, Types, RunTime, Statement, Freed, Absent, Large, Layouts, Changes):
    names = [parameter.name for parameter in kernel().parameters]
    given = {name: 1 if name == "n" else None for name in names}
    try:
        kernel().compile(**given).ir("bufferized")
    except UserError as error:
        print(f"{kernel.__name__}: {error}")

# CHECK:      Shapes: {{.*}}errors.py:20:9: dot takes tiles of m x k and k x n, not [16, 32] and [16, 32]
# CHECK-NEXT:           self.dot(a, a, acc_dtype=float32)
# CHECK-NEXT: {{^          \^$}}
# CHECK:      Types: {{.*}}:27:9: dot takes two tiles of the same type, not float16 and float32
# CHECK:        hint: cast the second: self.cast(b, dtype=float16)
# CHECK:      RunTime: {{.*}}:34:13: register_tensor: the shape has a run-time int32
# CHECK:        note: the sizes of tiles are compile-time constants
# CHECK:      Statement: {{.*}}:40:9: 'try' is not supported in a kernel
# CHECK:        hint: nothing is raised on the device
# CHECK:      Freed: {{.*}}:51:9: load_shared uses a shared tensor float16[16, 16] after free_shared
# CHECK:        note: it was freed at {{.*}}errors.py:50:9
# CHECK:      Absent: {{.*}}:57:9: 'tcgen05' is not supported
# CHECK:        note: it needs a Blackwell GPU
# CHECK:      Large: {{.*}}:63:13: the kernel needs 262144 bytes of shared memory, and a block has 232448
# CHECK:        note:   262144 bytes at {{.*}}errors.py:63:13: shared tensor 256x256 of f32
# CHECK:      Layouts: {{.*}}:74:9: annotate_layout: the tile already has another layout
# CHECK-NEXT:   {{^ +}}self.annotate_layout(u, {{.*}}
# CHECK-NEXT:   {{^ +\^$}}
# CHECK-NEXT:   note: given at {{.*}}errors.py:72:9: shape(16,16) modes(16,8,2) spatial(0,1) local(2)
# CHECK:      Changes: {{.*}}:81:9: 't' is a register tensor float32[16] before the loop, and a register tensor float16[16] after an iteration
# CHECK:        hint: cast it, or annotate the variable: x: float32 = 0
