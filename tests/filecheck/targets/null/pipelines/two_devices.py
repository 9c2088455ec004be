# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --target null --stage source | FileCheck %s --check-prefixes=CHECK,SOURCE
# RUN: xtc-compile %s --target null --stage offloaded | FileCheck %s --check-prefix=OFFLOADED
"""In a graph with two devices, the attribute names the device of an argument."""

import numpy as np

import xtc.ops as O

a = O.tensor((4, 4), name="A", device="null0")
b = O.tensor((4, 4), name="B", device="null1")
w = O.tensor((4, 4), name="W", device="null1", const=np.eye(4, dtype=np.float32))
with O.graph(name="two") as graph:
    c = O.relu(a, name="C", device="null0")
    d = O.matmul(b, w, name="D", device="null1")
    e = O.relu(d, name="E")
    O.outputs(c, e)

# CHECK:      memref.global constant @two.W : memref<4x4xf32>
# CHECK-SAME:   memref.on_device = "null1"
# CHECK:      func.func @two(%arg0: memref<4x4xf32> {llvm.noalias, memref.on_device = "null0"},
# CHECK-SAME:   %arg1: memref<4x4xf32> {llvm.noalias, memref.on_device = "null1"},
# CHECK-SAME:   %arg2: memref<4x4xf32> {llvm.noalias, memref.on_device = "null0"},
# CHECK-SAME:   %arg3: memref<4x4xf32> {llvm.noalias})

# OFFLOADED:  func.func private @two.null1.0
# OFFLOADED:  func.func private @two.null0.0
# OFFLOADED:  func.func @two(
# OFFLOADED:  call @two.null0.0({{.*}}) {xtc.device = "null0"}
# OFFLOADED:  call @two.null1.0({{.*}}) {xtc.device = "null1"}
# OFFLOADED:  memref.copy {{.*}} : memref<4x4xf32, 1> to memref<4x4xf32>

# SOURCE:     linalg.generic {{.*}}__xtc_id_C_{{.*}}xtc.device = "null0"
# SOURCE:     linalg.matmul {__xtc_id_D_{{.*}}xtc.device = "null1"}
# SOURCE:     linalg.generic
# SOURCE-NOT:   xtc.device
# SOURCE:     materialize_in_destination
