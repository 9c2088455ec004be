# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --target null --stage source | FileCheck %s --check-prefixes=CHECK,SOURCE
# RUN: xtc-compile %s --target null --stage bufferized | FileCheck %s --check-prefixes=CHECK,BUFFERIZED
"""Each operation names its device; those of a device become a function that the host calls."""

import xtc.ops as O

x = O.tensor((8, 8), name="X")
with O.graph(name="chain") as graph:
    y = O.matmul(x, x, name="Y", device="null0")
    O.relu(y, name="Z")

# SOURCE:     func.func @chain(%arg0: memref<8x8xf32> {llvm.noalias}, %arg1: memref<8x8xf32> {llvm.noalias})
# SOURCE:     linalg.fill {__xtc_id_Y.init_, xtc.device = "null0"}
# SOURCE:     linalg.matmul {__xtc_id_Y_, {{.*}}, xtc.device = "null0"}

# BUFFERIZED: func.func private @chain.null0.0({{.*}}) attributes {xtc.device = "null0", xtc.results = 1 : i64}
# BUFFERIZED: linalg.fill {__xtc_id_Y.init_, xtc.device = "null0"}
# BUFFERIZED: linalg.matmul {__xtc_id_Y_, {{.*}}, xtc.device = "null0"}
# BUFFERIZED: func.func @chain(%[[X:.*]]: memref<8x8xf32> {llvm.noalias}, %[[Z:.*]]: memref<8x8xf32> {llvm.noalias})
# BUFFERIZED: call @chain.null0.0(%[[X]], %{{.*}})

# CHECK:      linalg.generic
# CHECK-NOT:    xtc.device
# CHECK:      return
