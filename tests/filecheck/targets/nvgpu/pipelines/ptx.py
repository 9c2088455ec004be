# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s sm_80 | FileCheck %s --check-prefixes=CHECK,SM80
# RUN: %python %s sm_90a | FileCheck %s --check-prefixes=CHECK,SM90
"""PTX is generated without a GPU, its driver or its compiler."""

import sys

import xtc.ops as O
from xtc.driver import prepare
from xtc_targets.nvgpu import NvgpuDevice, NvgpuOptions

gpu = NvgpuDevice(NvgpuOptions(platform="hw", arch=sys.argv[1]))
x = O.tensor((70, 33), name="X", device=gpu)
with O.graph(name="f") as graph:
    O.exp(x, name="Y", device=gpu)

print(prepare(graph.graph, target=gpu).stage_text("code"))

# SM80:  .version 7.0
# SM80:  .target sm_80
# SM90:  .version 8.0
# SM90:  .target sm_90a
# CHECK: .visible .const .align 4 .b8 f_nvgpu0_0_launch[32] = {10, {{.*}} 2};
# CHECK: .visible .entry f_nvgpu0_0(
# CHECK: .reqntid 256, 1, 1
# CHECK: %ctaid.x
# CHECK: %tid.x
# CHECK: ld.global
# CHECK: ex2.approx
# CHECK: st.global
