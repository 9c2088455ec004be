# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage offloaded | FileCheck %s
# RUN: xtc-compile %s --stage lowered | FileCheck %s --check-prefix=LOWERED
# RUN: rm -rf %t
# RUN: xtc-compile %s -o %t | FileCheck %s --check-prefix=FILES
# RUN: FileCheck %s --check-prefix=MANIFEST --input-file=%t/manifest.json
# RUN: %python -c "print(open(r'%t/residents.bin', 'rb').read().hex())" | FileCheck %s --check-prefix=BYTES
"""A constant on a device travels beside the code; loading uploads it, calls do not."""

import numpy as np

import xtc.ops as O

x = O.tensor((2, 2), name="X")
w = O.tensor((2, 2), name="W", device="null0", const=np.array([[1, 2], [3, 4]], np.float32))
with O.graph(name="scale") as graph:
    O.matmul(x, w, name="Y", device="null0")

# CHECK:      memref.global constant @scale.W : memref<2x2xf32, 1> {{.*}}memref.on_device
# CHECK:      func.func @scale(%[[X:.*]]: memref<2x2xf32> {llvm.noalias}, %[[Y:.*]]: memref<2x2xf32, 1>
# CHECK-NEXT:   %[[W:.*]] = memref.get_global @scale.W : memref<2x2xf32, 1>
# CHECK-NEXT:   %[[XD:.*]] = memref.alloc()
# CHECK-NEXT:   memref.copy %[[X]], %[[XD]]
# CHECK-NEXT:   call @scale.null0.0(%[[XD]], %[[W]], %[[Y]])

# LOWERED: module attributes {{{.*}} xtc.residents = {{\[\[}}"null0", "scale.W", "0"]]}
# LOWERED: llvm.call @xtc_resident(

# FILES: null0.so
# FILES-SAME: residents.bin

# MANIFEST:     "entry": "scale"
# MANIFEST:     "residents": [
# MANIFEST:       "device": "null0"
# MANIFEST:       "nbytes": 16
# MANIFEST:       "symbol": "scale.W"

# BYTES: 0000803f000000400000404000008040
