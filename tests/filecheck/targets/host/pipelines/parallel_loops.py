# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage bufferized -O threads=4 --schedule @%S/Inputs/parallel_pack.yaml \
# RUN:   | FileCheck %s --check-prefix=THREADS
# RUN: xtc-compile %s --stage bufferized -O threads=1 --schedule @%S/Inputs/parallel_pack.yaml \
# RUN:   | FileCheck %s --check-prefix=ONE
# RUN: xtc-compile %s --stage lowered -O threads=1 --schedule @%S/Inputs/parallel_pack.yaml \
# RUN:   | FileCheck %s --check-prefix=PLAIN
"""A parallel loop with a packed operand: each thread has a separate buffer, which it reuses."""

import xtc.ops as O

a = O.tensor((64, 64), name="A")
b = O.tensor((64, 64), name="B")
with O.graph(name="matmul") as gb:
    O.matmul(a, b, name="C")

# THREADS-LABEL: func.func private @matmul.parallel.0(
# THREADS: %[[BUFFER:.*]] = memref.alloc() {{.*}} : memref<16x16xf32>
# THREADS: scf.for
# THREADS: {"./j"}
# THREADS: memref.dealloc %[[BUFFER]]
# THREADS-LABEL: func.func @matmul(
# THREADS-NOT: memref.alloc
# THREADS: call @matmul.parallel.0({{.*}}, %c0, %c4) {"./j", xtc.parallel}
# THREADS-NOT: memref.alloc

# ONE-NOT: func.func private
# ONE-LABEL: func.func @matmul(
# ONE: memref.alloc() {{.*}} : memref<16x16xf32>
# ONE: scf.for
# ONE-NOT: scf.forall

# PLAIN-NOT: @xtc.pool
