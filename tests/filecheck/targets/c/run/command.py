# SPDX-License-Identifier: Apache-2.0
# REQUIRES: tool-cc
# RUN: xtc-run %s -O codegen=c --check | FileCheck %s
# RUN: xtc-run %s -O codegen=c -O threads=2 --schedule '{C: {i: parallelize, j: {}, k: {}}}' --check \
# RUN:   | FileCheck %s
# RUN: rm -rf %t && xtc-compile %s -O codegen=c -O threads=2 -o %t \
# RUN:   --schedule '{C: {i: parallelize, j: {}, k: {}}}'
# RUN: ls %t | FileCheck %s --check-prefix=FILES
"""The commands take the generator as an option; an artifact contains its C code."""

import xtc.ops as O

a, b = O.tensor((12, 7), name="A"), O.tensor((7, 9), name="B")
with O.graph(name="product") as gb:
    O.matmul(a, b, name="C")

# CHECK: check C: all 108 elements agree

# FILES:      manifest.json
# FILES-NEXT: module.c
# FILES-NEXT: module.so
# FILES-NEXT: parallel.so
