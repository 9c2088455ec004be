# SPDX-License-Identifier: Apache-2.0
# REQUIRES: device-nvgpu
# RUN: %python %s | FileCheck %s
"""On a real GPU: what stays there, a row of operators, and PTX alone beside machine code."""

import xtc
import xtc.ops as O
from xtc_targets.nvgpu import NvgpuDevice
from xtc_targets.nvgpu.hardware import first_gpu

with NvgpuDevice(first_gpu()) as gpu:
    a = O.tensor((4, 16), "float32", name="A")
    b = O.tensor((16, 8), "float32", name="B", device=gpu)
    with O.graph(name="matmul") as placed:
        O.matmul(a, b, name="C", device=gpu)
    x = O.tensor((70, 96), name="X")
    w = O.tensor((96, 50), name="W", device=gpu)
    with O.graph(name="layers") as layers:
        y = O.relu(O.matmul(x, w, device=gpu), device=gpu)
        O.outputs(O.softmax(y, axis=1, name="S", device=gpu), O.reduce_sum(y, axes=1, name="T"))
    halves = [O.tensor((300, 300), "float16", name=name) for name in ("F", "G")]
    with O.graph(name="halves") as half:
        O.matmul(*halves, name="H", device=gpu)

    for graph in (placed, layers, half):
        for cubins in ("auto", "none"):
            with xtc.compile(graph, target=gpu, cubins=cubins) as module:
                print(*module.check(), sep="\n")
    print("left:", gpu.memory_info()[0])

# CHECK-COUNT-2: C: all 32 elements agree
# CHECK:      S: all 3500 elements agree
# CHECK-NEXT: T: all 70 elements agree
# CHECK-NEXT: S: all 3500 elements agree
# CHECK-NEXT: T: all 70 elements agree
# CHECK-COUNT-2: H: all 90000 elements agree
# CHECK-NEXT: left: 0
