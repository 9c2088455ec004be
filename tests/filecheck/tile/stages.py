# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""A kernel's IR: as it is written, with layouts, placed, and as the code of a thread."""

from xtc import tile
from xtc.tile import float32, int32


class Scale(tile.Script):
    def __call__(self, n: int32, factor: float32, x_ptr: ~float32):
        self.attrs.blocks = self.utils.cdiv(n, 128)
        self.attrs.warps = 1
        x = self.global_view(x_ptr, dtype=float32, shape=[n])
        at = 128 * self.blockIdx.x
        self.store_global(x, self.load_global(x, offsets=[at], shape=[128]) * factor, offsets=[at])


kernel = Scale().compile(1000, 2.0, None)
for stage in ("source", "scheduled", "bufferized", "offloaded"):
    print(f"== {stage}\n{kernel.ir(stage)}")

# CHECK-LABEL: == source
# CHECK:       func.func @Scale.tile(%[[N:.*]]: i32, %[[F:.*]]: f32, %[[P:.*]]: memref<f32, 1>) attributes {xtc.warps = 1 : i64}
# CHECK:       "tile.grid"(%{{.*}}, %c1_i32, %c1_i32)
# CHECK:       %[[X:.*]] = memref.reinterpret_cast %[[P]] to offset: [0], sizes: [%{{.*}}], strides: [1]
# CHECK:       %[[T:.*]] = "tile.load_global"(%[[X]], %[[AT:.*]]) {dims = array<i64: 0>} : {{.*}} -> tensor<128xf32>
# CHECK:       %[[S:.*]] = tensor.splat %[[F]] : tensor<128xf32>
# CHECK:       %[[M:.*]] = arith.mulf %[[T]], %[[S]] : tensor<128xf32>
# CHECK:       "tile.store_global"(%[[M]], %[[X]], %[[AT]])

# A thread has four neighbors, regardless of the size at run time.
# CHECK-LABEL: == scheduled
# CHECK:       arith.mulf %{{.*}} : tensor<128xf32, #tile.layout<"shape(128) modes(32,4) spatial(0) local(1)">>

# CHECK-LABEL: == bufferized
# CHECK-SAME:  {{$}}
# CHECK:       nvgpu.shared_bytes = 0 : i64

# CHECK-LABEL: == offloaded
# CHECK:       nvgpu.block = array<i64: 32, 1, 1>
# CHECK:       llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
# CHECK:       arith.mulf %{{.*}}, %{{.*}} : vector<4xf32>
# CHECK:       llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
# CHECK-NOT:   tile.
