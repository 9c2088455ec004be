# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage offloaded | FileCheck %s --check-prefix=HOST
# RUN: xtc-compile %s --target null --stage offloaded | FileCheck %s --check-prefix=DEVICE
"""A graph without placements runs on the host, or as a whole on an accelerator."""

import xtc.ops as O

a = O.tensor((4, 16), name="A")
b = O.tensor((16, 8), name="B")
with O.graph(name="product") as graph:
    O.relu(O.matmul(a, b, name="C"), name="D")

# HOST-NOT: xtc.device

# DEVICE:      module @null0
# DEVICE:        linalg.matmul
# DEVICE:      func.func @product(%arg0: memref<4x16xf32> {llvm.noalias}, %arg1: memref<16x8xf32>
# DEVICE-NOT:    linalg
# DEVICE:        memref.copy %arg0, %{{.*}} : memref<4x16xf32> to memref<4x16xf32, 1>
# DEVICE:        memref.copy %arg1, %{{.*}} : memref<16x8xf32> to memref<16x8xf32, 1>
# DEVICE:        call @product.null0.0(
# DEVICE:        memref.copy %{{.*}}, %arg2 {{.*}} : memref<4x8xf32, 1> to memref<4x8xf32>
