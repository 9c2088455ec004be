# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage source | FileCheck %s --check-prefix=SOURCE
# RUN: xtc-compile %s --stage scheduled | FileCheck %s --check-prefix=SCHEDULED
# RUN: xtc-compile %s --stage bufferized | FileCheck %s --check-prefix=BUFFERIZED
# RUN: xtc-compile %s --stage offloaded | FileCheck %s --check-prefix=OFFLOADED
# RUN: xtc-compile %s --stage lowered | FileCheck %s --check-prefix=LOWERED
# RUN: xtc-compile %s --stage code | FileCheck %s --check-prefix=CODE
"""Two operators on a device and one on the host: the changes of each stage."""

import xtc.ops as O

x = O.tensor((2, 4), name="X")
w = O.tensor((4, 3), name="W", device="null0")
with O.graph(name="layer") as graph:
    h = O.matmul(x, w, name="H", device="null0")
    r = O.relu(h, name="R", device="null0")
    O.add(r, r, name="Y")

# One function; placed operations name their device.
# SOURCE:      func.func @layer(%arg0: memref<2x4xf32> {llvm.noalias},
# SOURCE-SAME:   %arg1: memref<4x3xf32> {llvm.noalias, memref.on_device},
# SOURCE-SAME:   %arg2: memref<2x3xf32> {llvm.noalias})
# SOURCE:        linalg.matmul {__xtc_id_H_, {{.*}} xtc.device = "null0"}
# SOURCE:        linalg.generic {{.*}}__xtc_id_R_, {{.*}} xtc.device = "null0"}
# SOURCE:        linalg.generic {{.*}}__xtc_id_Y_,
# SOURCE-NOT:    xtc.device
# SOURCE:        return

# Consecutive operations on the device form a function.
# SCHEDULED:      func.func private @layer.null0.0(
# SCHEDULED-SAME:   xtc.device = "null0"
# SCHEDULED:        linalg.matmul {__xtc_id_H_
# SCHEDULED:        linalg.generic {{.*}}__xtc_id_R_
# SCHEDULED:      func.func @layer(
# SCHEDULED:        call @layer.null0.0(%{{.*}}, %{{.*}}) {{.*}} -> tensor<2x3xf32>
# SCHEDULED:        linalg.generic {{.*}}__xtc_id_Y_

# Results are written to destinations, whose buffers the next stage chooses.
# BUFFERIZED:     func.func private @layer.null0.0(%{{.*}}: memref<2x4xf32>, %{{.*}}: memref<4x3xf32>, %[[R:.*]]: memref<2x3xf32>)
# BUFFERIZED:       linalg.matmul {{.*}} outs(%[[R]] :
# BUFFERIZED:     func.func @layer(
# BUFFERIZED:       %[[HOST:.*]] = memref.alloc() : memref<2x3xf32>
# BUFFERIZED:       call @layer.null0.0(%arg0, %arg1, %[[HOST]])
# BUFFERIZED:       linalg.generic {{.*}} ins(%[[HOST]], %[[HOST]]

# Each device has a module; the host allocates (space 1), copies, calls, frees. W is not copied.
# OFFLOADED:      module @null0 attributes {xtc.device = "null0"} {
# OFFLOADED:        func.func @layer.null0.0(%{{.*}}: memref<2x4xf32, 1>
# OFFLOADED:      func.func private @layer.null0.0(
# OFFLOADED:      func.func @layer(%[[X:.*]]: memref<2x4xf32> {{.*}}, %[[W:.*]]: memref<4x3xf32, 1> {{.*}},
# OFFLOADED:        %[[R:.*]] = memref.alloc() : memref<2x3xf32>
# OFFLOADED-NEXT:   %[[XD:.*]] = memref.alloc() {xtc.device = "null0"} : memref<2x4xf32, 1>
# OFFLOADED-NEXT:   memref.copy %[[X]], %[[XD]] {xtc.device = "null0"}
# OFFLOADED-NEXT:   %[[RD:.*]] = memref.alloc() {xtc.device = "null0"} : memref<2x3xf32, 1>
# OFFLOADED-NEXT:   call @layer.null0.0(%[[XD]], %[[W]], %[[RD]]) {xtc.device = "null0"}
# OFFLOADED-NEXT:   memref.copy %[[RD]], %[[R]] {xtc.device = "null0"}
# OFFLOADED-NEXT:   linalg.generic {{.*}} ins(%[[R]], %[[R]]
# OFFLOADED:        memref.dealloc %[[XD]] {xtc.device = "null0"}
# OFFLOADED:        memref.dealloc %[[RD]] {xtc.device = "null0"}

# Commands for device 0 become calls; the host waits before it reads the copied results.
# LOWERED:      module attributes {xtc.kernel_nodes = {{.*}}, xtc.kernels = {{\[\[}}"null0", "layer.null0.0", "address", "address", "address"]]
# LOWERED:        module @null0
# LOWERED:          llvm.func @layer_null0_0(%{{.*}}: !llvm.ptr)
# LOWERED:        llvm.func @layer(%{{.*}}: !llvm.ptr {{.*}}, %{{.*}}: i64 {memref.on_device}, %{{.*}}: !llvm.ptr
# LOWERED:          llvm.call @xtc_allocate
# LOWERED-NEXT:     llvm.ptrtoint
# LOWERED-NEXT:     llvm.call @xtc_copy_to
# LOWERED-NEXT:     llvm.call @xtc_allocate
# LOWERED:          llvm.call @xtc_launch
# LOWERED-NEXT:     llvm.call @xtc_copy_from
# LOWERED-NEXT:     llvm.call @xtc_wait
# LOWERED:          llvm.call @xtc_free
# LOWERED-NEXT:     llvm.call @xtc_free

# The program, then the code of each device.
# CODE:      layer:
# CODE:      # null0
# CODE:      layer_null0_0:
