# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --target null --stage source | FileCheck %s --check-prefixes=CHECK,SOURCE
# RUN: xtc-compile %s --target null --stage bufferized | FileCheck %s --check-prefixes=CHECK,BUFFERIZED
"""Each operator says where it runs; what comes from the host and goes back is not marked."""

import xtc.ops as O

x = O.tensor((8, 8), name="X")
with O.graph(name="chain") as graph:
    y = O.matmul(x, x, name="Y", device="null0")
    O.relu(y, name="Z")

# CHECK: func.func @chain(%arg0: memref<8x8xf32> {llvm.noalias}, %arg1: memref<8x8xf32> {llvm.noalias})

# SOURCE:     linalg.fill {__xtc_id_Y.init_, xtc.device = "null0"}
# SOURCE:     linalg.matmul {__xtc_id_Y_, {{.*}}, xtc.device = "null0"}

# BUFFERIZED: linalg.fill {__xtc_id_Y.init_, xtc.device = "null0"}
# BUFFERIZED: linalg.matmul {__xtc_id_Y_, {{.*}}, xtc.device = "null0"}

# CHECK:      linalg.generic
# CHECK-NOT:    xtc.device
# CHECK:      return
