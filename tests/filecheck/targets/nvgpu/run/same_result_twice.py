# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-run %s --check | FileCheck %s
# RUN: xtc-compile %s --stage offloaded | FileCheck %s --check-prefix=OFFLOADED
"""A cast there and back has no effect: the caller's buffer of one result is the source of the other."""

import xtc.ops as O

x = O.tensor((4, 9), "int16", name="X")
y = O.tensor((4, 9), "int16", name="Y")
with O.graph(name="f") as graph:
    doubled = O.add(x, x, device="nvgpu0")
    wide = O.cast(doubled, dtype="int64", device="nvgpu0")
    back = O.cast(wide, dtype="int16", name="B", device="nvgpu0")
    O.outputs(O.add(doubled, y, name="S"), back)

# CHECK:      check S: all 36 elements agree
# CHECK-NEXT: check B: all 36 elements agree

# OFFLOADED: func.func @f(
# OFFLOADED: call @f.nvgpu0.0(%{{[a-z_0-9]+}}, %arg3)
# OFFLOADED-NOT: call
# OFFLOADED: memref.copy %arg3, %{{[a-z_0-9]+}} {xtc.device = "nvgpu0"}
