# SPDX-License-Identifier: Apache-2.0
# RUN: rm -rf %t.* && mkdir -p %t.empty
# RUN: xtc-compile %s --target nvgpu -O platform=hw -O cubins=none -o %t.none | FileCheck %s
# RUN: env XTC_CUDA_ROOT=%t.empty not xtc-compile %s --target nvgpu -O platform=hw -O cubins=sm_90a -o %t.one 2>&1 | FileCheck %s --check-prefix=MISSING
"""PTX alone needs none of NVIDIA's programs; where machine code was asked for, they are missed."""

import xtc.ops as O

x = O.tensor((8,), name="X")
with O.graph(name="f") as graph:
    O.relu(x, name="Y")

# CHECK: module.so, nvgpu0.ptx

# MISSING:      error: XTC_CUDA_ROOT is {{.*}}.empty, which does not contain 'bin/ptxas'
# MISSING-NEXT: hint: unset it, or name the folder of a CUDA toolkit: /usr/local/cuda
