# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --target embedded -O board=nucleo-l4r5zi --stage code | FileCheck %s --check-prefix=DUAL
# RUN: xtc-compile %s --target embedded -O board=nucleo-g0b1 --stage code | FileCheck %s --check-prefix=SINGLE
# RUN: xtc-compile %s --target embedded -O board=qemu-virt --stage code | FileCheck %s --check-prefix=LANES
# RUN: xtc-compile %s --target embedded -O board=qemu-virt-a76 --stage code | FileCheck %s --check-prefix=DOTS
# RUN: xtc-compile %s --target embedded -O board=nucleo-l4r5zi --stage offloaded | FileCheck %s --check-prefix=PLAN
"""The description of the core selects the int8 multiply instructions."""

import numpy as np

import xtc.ops as O

with O.graph(name="net") as gb:
    x = O.tensor((4, 32), "int8", name="x")
    w = O.tensor((32, 8), "int8", const=np.ones((32, 8), np.int8))
    O.requantize(O.matmul(x, w, name="m"), 0.02, zero_point=3, name="y")

graph = gb.graph

# DUAL-LABEL: net.op.y:
# DUAL:         sxtb16
# DUAL:         smlad
# SINGLE-LABEL: net.op.y:
# SINGLE-NOT:     smlad
# SINGLE:         muls
# LANES-LABEL: net.op.y:
# LANES:         smlal v{{[0-9]+}}.4s, v{{[0-9]+}}.4h, v{{[0-9]+}}.h[0]
# DOTS-LABEL: net.op.y:
# DOTS:         sdot v{{[0-9]+}}.4s

# PLAN: memref.global {{.*}}@net_arena
# PLAN: func.func private @net.op.y(
# PLAN-NOT: memref.alloc
# PLAN: func.func @net(
# PLAN-NOT: memref.alloc
# PLAN: call @net.op.y(
