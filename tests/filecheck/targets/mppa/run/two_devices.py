# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""The host and two devices in one graph: the driver routes the transfers between them."""

import xtc
import xtc.ops as O
from xtc_targets.mppa import MppaDevice, MppaOptions

with MppaDevice() as first, MppaDevice(MppaOptions(arch="kv3-1", clusters=3)) as second:
    a = O.tensor((32, 48), name="A")
    b = O.tensor((48, 16), name="B", device=first)
    with O.graph(name="relay") as gb:
        product = O.matmul(a, b, name="P", device=first)
        total = O.reduce_sum(
            O.exp(O.tanh(product), device=second), axes=(1,), name="T", device=second
        )
        O.outputs(total, O.neg(product, name="N"))

    with xtc.compile(gb.graph) as module:
        for comparison in module.check():
            print(comparison)
        # CHECK: T: all 32 elements agree
        # CHECK: N: all 512 elements agree
        print(*sorted(module.devices))
        # CHECK: mppa0 mppa1
    print(first.memory_info()[0], second.memory_info()[0])
    # CHECK: 0 0
