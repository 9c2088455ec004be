# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --target null --stage source | FileCheck %s --check-prefix=SOURCE
# RUN: xtc-compile %s --target null --stage scheduled | FileCheck %s --check-prefix=SCHEDULED
# RUN: xtc-compile %s --target null --stage bufferized | FileCheck %s --check-prefix=BUFFERIZED
# RUN: xtc-compile %s --target null --stage offloaded | FileCheck %s --check-prefix=OFFLOADED
# RUN: xtc-compile %s --target null --stage lowered | FileCheck %s --check-prefix=LOWERED
# RUN: xtc-compile %s --target null --stage code | FileCheck %s --check-prefix=LOWERED
"""Every stage can be printed; each has the IR that the one before lacks."""

import xtc.ops as O

a = O.tensor((4, 16), name="A")
b = O.tensor((16, 8), name="B")
with O.graph(name="matmul") as graph:
    O.matmul(a, b, name="C")

# SOURCE:      func.func @matmul(
# SOURCE:        linalg.matmul {{.*}} -> tensor<4x8xf32>
# SOURCE-NEXT:   bufferization.materialize_in_destination

# SCHEDULED: linalg.matmul {{.*}} -> tensor<4x8xf32>

# BUFFERIZED:      func.func @matmul(%arg0: memref<4x16xf32>
# BUFFERIZED-NEXT:   %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
# BUFFERIZED-NEXT:   linalg.fill {{.*}} ins(%[[ZERO]] : f32) outs(%arg2 : memref<4x8xf32>)
# BUFFERIZED-NEXT:   linalg.matmul {{.*}} ins(%arg0, %arg1 : {{.*}}) outs(%arg2 : memref<4x8xf32>)
# BUFFERIZED-NEXT:   return

# OFFLOADED: linalg.matmul {{.*}} outs(%arg2 : memref<4x8xf32>)

# LOWERED-NOT:     linalg
# LOWERED:         scf.for
# LOWERED-COUNT-3: memref.load
# LOWERED:         memref.store
# LOWERED-NOT:     linalg
