# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --stage code -O triple=x86_64-linux-gnu -O cpu=znver4 -O threads=1 | FileCheck %s
# RUN: xtc-compile %s --stage code -O triple=x86_64-linux-gnu -O cpu=sapphirerapids -O threads=1 | FileCheck %s
# RUN: xtc-compile %s --stage code -O triple=x86_64-linux-gnu -O cpu=x86-64-v3 -O threads=1 | FileCheck %s --check-prefix=AVX2
# RUN: xtc-compile %s --stage code -O triple=aarch64-linux-gnu -O features=+neon,+bf16,+dotprod -O threads=1 | FileCheck %s --check-prefix=ARM
# RUN: xtc-compile %s --stage code -O triple=aarch64-linux-gnu -O threads=1 | FileCheck %s --check-prefix=NEON
"""Contractions of narrow types, with the instructions of several processors."""

import xtc.ops as O

a, b = O.tensor((32, 64), "bfloat16", name="A"), O.tensor((64, 32), "bfloat16", name="B")
c, d = O.tensor((32, 64), "int8", name="C"), O.tensor((64, 32), "int8", name="D")
e, f = O.tensor((32, 64), "float32", name="E"), O.tensor((64, 32), "float32", name="F")

# CHECK-DAG: vdpbf16ps {{.*}}%zmm
# CHECK-DAG: vpdpbusd {{.*}}%zmm
# CHECK-DAG: vfmadd{{[0-9]+}}ps {{.*}}%zmm

# AVX2-NOT: vdpbf16ps
# AVX2-NOT: vpdpbusd
# AVX2-DAG: vfmadd{{[0-9]+}}ps {{.*}}%ymm
# AVX2-DAG: vpmaddwd {{.*}}%ymm

# ARM-DAG: bfdot v{{[0-9]+}}.4s, v{{[0-9]+}}.8h
# ARM-DAG: sdot v{{[0-9]+}}.4s, v{{[0-9]+}}.16b
# ARM-DAG: fmla v{{[0-9]+}}.4s, v{{[0-9]+}}.4s

# NEON-NOT: {{bl	.*fma}}
# NEON: fmla v{{[0-9]+}}.4s, v{{[0-9]+}}.4s
# NEON-NOT: {{bl	.*fma}}
with O.graph(name="products") as graph:
    O.matmul(a, b, name="P")
    O.matmul(c, d, name="Q")
    O.matmul(e, f, name="R")
