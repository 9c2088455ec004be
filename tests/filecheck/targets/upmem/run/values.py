# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
# REQUIRES: dpu-compiler
"""Values computed by DPUs; weights are sent once, and what stays on DPUs is not moved."""

import numpy as np

import xtc
import xtc.ops as O
from xtc_targets.upmem import UpmemDevice

with UpmemDevice(nr_dpus=3) as dpus:
    weights = np.arange(32 * 8, dtype=np.float32).reshape(32, 8) % 5
    a = O.tensor((20, 32), name="A")
    w = O.tensor((32, 8), "float32", const=weights, device=dpus, name="W")
    with O.graph(name="layer") as graph:
        O.relu(O.matmul(a, w, device=dpus), device=dpus, name="R")
    with xtc.compile(graph.graph) as module:
        print(all(found.ok for found in module.check()))
        before = dpus.counters()["upmem.BYTES_TO_DEVICE"]
        module.check()
        print(int(dpus.counters()["upmem.BYTES_TO_DEVICE"] - before))

# CHECK:      True
# The operand alone, 20 rows of 128 bytes.
# CHECK-NEXT: 2560
