# SPDX-License-Identifier: Apache-2.0
# RUN: xtc-compile %s --target embedded -O board=nucleo-l4r5zi -O codegen=c --stage code | FileCheck %s
"""codegen="c": buffers are parts of one arena, and an operator is a function."""

import numpy as np

import xtc.ops as O

with O.graph(name="net") as gb:
    x = O.tensor((1, 8), "int8", name="x")
    w = O.tensor((8, 4), "int8", const=np.ones((8, 4), np.int8))
    O.requantize(O.matmul(x, w, name="m"), 0.02, zero_point=3, name="y")

graph = gb.graph

# CHECK:      // net: the program of net.h
# CHECK:      int8_t net_arena[16] __attribute__((aligned(16)));
# CHECK-NEXT: extern const int8_t net_const0_tiles0[32];
# CHECK:      static __attribute__((noinline)) void net_op_y(
# CHECK:        int32_t t = 0;
# CHECK:          t += (int32_t)
# CHECK-NOT:  alloc
# CHECK:      void net(void) {
# CHECK-NEXT:   int8_t (*const buffer)[4] = (int8_t (*)[4])(net_arena + 8);
# CHECK-NEXT:   int8_t (*const buffer_1)[8] = (int8_t (*)[8])(net_arena + 0);
# CHECK-NEXT:   net_op_y(buffer_1, buffer);
