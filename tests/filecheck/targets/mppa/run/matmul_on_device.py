# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
# RUN: xtc-compile %s --stage source | FileCheck %s --check-prefix=SOURCE
"""A is on the host, B and C are on the accelerator: only A is transferred, 256 bytes."""

import numpy as np

import xtc
import xtc.ops as O
from xtc_targets.mppa import MppaDevice

mppa = MppaDevice()

rows, columns, depth = 4, 8, 16
a = O.tensor((rows, depth), "float32", name="A")  # lives on the host
b = O.tensor((depth, columns), "float32", name="B", device=mppa)  # lives on the accelerator
with O.graph(name="matmul") as gb:
    O.matmul(a, b, name="C", device=mppa)  # is computed there, and stays there
graph = gb.graph

schedule = xtc.Schedule(graph)
memory = schedule.define_memory_mesh("memory_mesh", {"mx": 1, "my": 1})
schedule.define_processor_mesh("processor_mesh", {"px": 1, "py": 1, "psx": 2, "psy": 8}, memory)
c = schedule["C"]
c.tile("i", {"i1": 2})
c.pack_at("i", 1)
c.distribute({"j": "psy"})

# SOURCE: func.func @matmul(%arg0: memref<4x16xf32> {llvm.noalias},
# SOURCE-SAME: %arg1: memref<16x8xf32> {llvm.noalias, memref.on_device},
# SOURCE-SAME: %arg2: memref<4x8xf32> {llvm.noalias, memref.on_device})

if __name__ == "__main__":
    with mppa, xtc.compile(graph, target=mppa, schedule=schedule) as module:
        print(schedule)
        # CHECK: for i in 0..4 step 2  // pack 1
        # CHECK: for j in 0..8  // distribute psy
        print(module.ir("scheduled"))
        # CHECK:      func.func private @matmul.mppa0.0
        # CHECK:        scf.for
        # CHECK:          bufferization.alloc_tensor
        # CHECK-SAME:       memory_space = 2
        # CHECK:          scf.forall {{.*}} in (8)
        # CHECK:            mapping = [#gpu.thread<linear_dim_0>], xtc.axes = ["psy"]
        # CHECK:      shard.grid @memory_mesh(shape = 1x1)
        # CHECK:      shard.grid @processor_mesh(shape = 1x1x2x8)
        print(module.check()[0])
        # CHECK: C: all 32 elements agree

        before = mppa.counters()
        left, right = np.ones((rows, depth), np.float32), np.ones((depth, columns), np.float32)
        result = module(left, there := mppa.array(right))
        after = mppa.counters()
        print("in:", int(after["mppa.H2D_BYTES"] - before["mppa.H2D_BYTES"]) - there.nbytes)
        print("out:", int(after["mppa.D2H_BYTES"] - before["mppa.D2H_BYTES"]))
        print(result, result.numpy().sum())
        # CHECK: in: 256
        # CHECK: out: 0
        # CHECK: <device array 4x8xfloat32 on mppa0> 512.0
