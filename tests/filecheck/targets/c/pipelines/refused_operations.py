# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""Operations without a C form: the user's line, the node, the operation, a hint."""

from Inputs.refused import refused

# A function that the C library lacks, with name and line of its node.
refused(
    {"a": "memref<4xf32>"},
    """
    %x = memref.load %a[%c0] : memref<4xf32>
    %y = math.cbrt %x : f32 loc("root"("net.py":7:3))
    memref.store %y, %a[%c0] : memref<4xf32>""",
)
# CHECK:      net.py:7: 'root': math.cbrt cannot be written in C
# CHECK-NEXT:   note: {{.*}} = math.cbrt
# CHECK-NEXT:   hint: use codegen='llvm', which supports more than C can express

# A function that returns a value: results are arguments.
refused({"x": "f32"}, "", "func.func private @g(%x: f32) -> f32 { return %x : f32 }")
# CHECK-NEXT: a function that returns a value cannot be written in C
# CHECK-NEXT:   note: func.return %arg0 : f32
# CHECK-NEXT:   hint: use codegen='llvm'

refused({"x": "f32"}, "%y = call @g(%x) : (f32) -> f32", "func.func private @g(f32) -> f32")
# CHECK-NEXT: the result of a call cannot be written in C
# CHECK-NEXT:   note: {{.*}} = func.call @g(%arg0)
# CHECK-NEXT:   hint: use codegen='llvm'

# Integer division with rounding: only indices use it.
refused(
    {"n": "i32", "a": "memref<4xi32>"},
    "%q = arith.floordivsi %n, %n : i32\nmemref.store %q, %a[%c0] : memref<4xi32>",
)
# CHECK-NEXT: arith.floordivsi of i32 cannot be written in C
# CHECK-NEXT:   note:
# CHECK-NEXT:   hint: use codegen='llvm'

refused(
    {"x": "f64", "a": "memref<4xbf16>"},
    "%y = arith.truncf %x : f64 to bf16\nmemref.store %y, %a[%c0] : memref<4xbf16>",
)
# CHECK-NEXT: rounding f64 to bf16 cannot be written in C

# A parallel loop whose bounds are not numbers.
refused(
    {"n": "index", "a": "memref<4xf32>"},
    """
    %x = memref.load %a[%c0] : memref<4xf32>
    scf.forall (%i) in (%n) { memref.store %x, %a[%i] : memref<4xf32> }""",
)
# CHECK:      scf.forall on tensors or with dynamic bounds cannot be written in C
# CHECK-NEXT:   note: scf.forall

# Operations outside of functions and tables, and values that cannot be arguments.
refused({}, "", "module {}")
# CHECK:      builtin.module cannot be written in C
# CHECK:        hint: use codegen='llvm'

refused({}, "", "func.func private @g(complex<f32>)")
# CHECK:      parameters of type complex<f32> cannot be written in C
