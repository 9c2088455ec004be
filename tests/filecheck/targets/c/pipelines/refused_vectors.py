# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""Vectors that the extensions of GCC and Clang lack."""

from Inputs.refused import refused

V4 = "vector<4xi32>"

# A number of lanes that is not a power of two, and several dimensions.
refused({"a": "memref<9xf32>"}, "%x = vector.load %a[%c0] : memref<9xf32>, vector<3xf32>")
# CHECK:      values of type vector<3xf32> cannot be written in C
# CHECK-NEXT:   note:
# CHECK-NEXT:   hint: use codegen='llvm', which supports more than C can express

refused({}, "%v = arith.constant dense<[1, 2, 3, 4]> : vector<4xi32>")
# CHECK-NEXT: a vector of different constants cannot be written in C

refused({"v": V4}, f"%q = arith.divui %v, %v : {V4}")
# CHECK:      arith.divui of vectors cannot be written in C

refused({"v": V4}, f"%q = arith.cmpi ult, %v, %v : {V4}")
# CHECK:      this comparison of vectors cannot be written in C

refused({"v": V4}, f"%q = arith.extui %v : {V4} to vector<4xi64>")
# CHECK:      unsigned vectors cannot be written in C

refused({"v": V4}, f"%q = arith.trunci %v : {V4} to vector<4xi1>")
# CHECK:      arith.trunci to a vector of i1 cannot be written in C

refused({"v": V4, "n": "index"}, f"%q = vector.extract %v[%n] : i32 from {V4}")
# CHECK:      vector.extract at a dynamic position cannot be written in C

refused({"v": "vector<2xf32>"}, "%w = vector.broadcast %v : vector<2xf32> to vector<2xf32>")
# CHECK:      vector.broadcast of a vector cannot be written in C

memory = {"a": "memref<9xi32>", "m": "vector<4xi1>", "v": V4}
refused(memory, f"vector.maskedstore %a[%c0], %m, %v : memref<9xi32>, vector<4xi1>, {V4}")
# CHECK:      only a constant mask of the first lanes can be written in C
