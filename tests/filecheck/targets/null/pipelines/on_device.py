# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
# RUN: xtc-compile %s --stage source | FileCheck %s --check-prefix=SIGNATURE
# RUN: xtc-compile %s --stage bufferized | FileCheck %s --check-prefix=SIGNATURE
# RUN: xtc-compile %s --stage offloaded | FileCheck %s --check-prefix=OFFLOADED
"""A lives on the host, B and C on the device: only A is copied, 256 bytes per call."""

import xtc
import xtc.ops as O
from xtc_targets.null import NullDevice

device = NullDevice()
a = O.tensor((4, 16), "float32", name="A")
b = O.tensor((16, 8), "float32", name="B", device=device)
with O.graph(name="matmul") as graph:
    O.matmul(a, b, name="C", device=device)

print(graph.graph)
# CHECK:      graph matmul(%A: 4x16xfloat32, %B: 16x8xfloat32 @null0) {
# CHECK-NEXT:   %C = matmul(%A, %B) @null0 : 4x8xfloat32
# CHECK-NEXT:   return %C
# CHECK-NEXT: }

# fmt: off
# SIGNATURE: func.func @matmul(%arg0: memref<4x16xf32> {llvm.noalias}, %arg1: memref<16x8xf32> {llvm.noalias, memref.on_device}, %arg2: memref<4x8xf32> {llvm.noalias, memref.on_device}) {
# fmt: on

# OFFLOADED:      func.func @matmul(%[[A:.*]]: memref<4x16xf32> {llvm.noalias},
# OFFLOADED-SAME:   %[[B:.*]]: memref<16x8xf32, 1> {llvm.noalias, memref.on_device},
# OFFLOADED-SAME:   %[[C:.*]]: memref<4x8xf32, 1> {llvm.noalias, memref.on_device}) {
# OFFLOADED-NEXT: %[[COPY:.*]] = memref.alloc() {xtc.device = "null0"} : memref<4x16xf32, 1>
# OFFLOADED-NEXT: memref.copy %[[A]], %[[COPY]] {xtc.device = "null0"} : memref<4x16xf32> to memref<4x16xf32, 1>
# OFFLOADED-NEXT: call @matmul.null0.0(%[[COPY]], %[[B]], %[[C]]) {xtc.device = "null0"}
# OFFLOADED-NEXT: memref.dealloc %[[COPY]] {xtc.device = "null0"} : memref<4x16xf32, 1>
# OFFLOADED-NEXT: return

with xtc.compile(graph, target=device) as module:
    for argument in module.artifact.manifest.arguments:
        print(argument.name, argument.role, argument.device)
# CHECK-NEXT: A input None
# CHECK-NEXT: B input null0
# CHECK-NEXT: C output null0
