# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --target null --stage lowered | FileCheck %s
# RUN: rm -rf %t
# RUN: xtc-compile %s --target null -o %t | FileCheck %s --check-prefix=FILES
# RUN: FileCheck %s --check-prefix=MANIFEST --input-file=%t/manifest.json
# RUN: %python -c "print(open(r'%t/scale.W.bin', 'rb').read().hex())" | FileCheck %s --check-prefix=BYTES
"""A constant on a device is a global that says so; its bytes travel beside the code."""

import numpy as np

import xtc.ops as O

x = O.tensor((2, 2), name="X")
w = O.tensor((2, 2), name="W", device="null0", const=np.array([[1, 2], [3, 4]], np.float32))
with O.graph(name="scale") as graph:
    O.matmul(x, w, name="Y")

# CHECK:      memref.global constant @scale.W : memref<2x2xf32>
# CHECK-SAME:   {alignment = 64 : i64, memref.on_device}
# CHECK:      func.func @scale(%arg0: memref<2x2xf32> {llvm.noalias}, %arg1: memref<2x2xf32> {llvm.noalias})
# CHECK:        memref.get_global @scale.W

# FILES: module.mlir, scale.W.bin

# MANIFEST:     "entry": "scale"
# MANIFEST:     "module.mlir": "{{[0-9a-f]+}}"
# MANIFEST:     "scale.W.bin": "{{[0-9a-f]+}}"
# MANIFEST:     "target": "null"

# BYTES: 0000803f000000400000404000008040
