# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-run %s --target nvgpu | FileCheck %s
# RUN: xtc-run %s --target nvgpu -O arch=sm_80 -O block_threads=96 | FileCheck %s
# RUN: not xtc-run %s --target nvgpu -O arch=sm_75 2>&1 | FileCheck %s --check-prefix=ARCH
# RUN: not xtc-run %s --target nvgpu -O block_threads=2048 2>&1 | FileCheck %s --check-prefix=THREADS
# RUN: not xtc-run %s --target nvgpu -O cubins=sm_80 2>&1 | FileCheck %s --check-prefix=CUBINS
"""A graph that places nothing runs on the GPU as a whole."""

import xtc.ops as O

x = O.tensor((2, 9, 9, 3), name="X")
k = O.tensor((3, 3, 3, 8), name="K")
with O.graph(name="features") as graph:
    O.max_pool2d(O.relu(O.conv2d(x, k, padding=1)), window=2, stride=2, name="Y")

# CHECK: check Y: all 256 elements agree

# ARCH: arch='sm_75' is not one of sm_80, sm_86, sm_89, sm_90a
# THREADS: block_threads=2048 is not a whole number from 1 to 1024
# CUBINS: cubins=('sm_80',) is not for platform 'sim'
