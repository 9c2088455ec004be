# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""Arithmetic on i1, which operators write with and, or and exclusive or."""

from Inputs.refused import refused

refused({"p": "i1", "a": "memref<4xi1>"}, "%q = arith.muli %p, %p : i1")
# CHECK:      arith.muli of i1 cannot be written in C
# CHECK-NEXT:   note: %0 = arith.muli %arg0, %arg0 : i1
# CHECK-NEXT:   hint: use codegen='llvm', which supports more than C can express

refused({"p": "i1"}, "%x = arith.sitofp %p : i1 to f32")
# CHECK-NEXT: arith.sitofp of i1 cannot be written in C
# CHECK-NEXT:   note: %0 = arith.sitofp

refused({"p": "i1"}, "%x = arith.extsi %p : i1 to i32")
# CHECK:      arith.extsi of i1 cannot be written in C
# CHECK-NEXT:   note: %0 = arith.extsi

V = "vector<4xi1>"
refused({"p": V}, f"%q = arith.select %p, %p, %p : {V}, {V}")
# CHECK:      arith.select of vectors of i1 cannot be written in C
# CHECK-NEXT:   note: %0 = arith.select
