# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
# RUN: xtc-run %s --target null --check | FileCheck %s --check-prefix=RIGHT
# RUN: xtc-run %s --target null --measure --repeat 3 | FileCheck %s --check-prefix=MEASURED
"""X and Y live on the device: the caller gives and gets device arrays, and no call copies them."""

import numpy as np

import xtc
import xtc.ops as O
from xtc_targets.null import NullDevice

x = O.tensor((2, 2), name="X", device="null0")
with O.graph(name="square") as graph:
    O.matmul(x, x, name="Y", device="null0")

if __name__ == "__main__":
    with NullDevice() as device, xtc.compile(graph, target=device) as module:
        y = module(device.array(np.array([[1, 2], [3, 4]], np.float32)))
        print(y, y.numpy().tolist())
        for name, count in device.counters().items():
            print(name, int(count))
# CHECK:      <device array 2x2xfloat32 on null0> {{\[\[}}7.0, 10.0], [15.0, 22.0]]
# CHECK-NEXT: null.LAUNCHES 1
# CHECK-NEXT: null.H2D_BYTES 16
# CHECK-NEXT: null.D2H_BYTES 16
# CHECK-NEXT: null.D2D_BYTES 0

# RIGHT: check Y: all 4 elements agree

# MEASURED: measure median
