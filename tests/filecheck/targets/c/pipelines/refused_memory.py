# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""Memory without a C array type: dynamic sizes, elements of half a byte, parts, tables."""

from Inputs.refused import refused

refused({"a": "memref<?xf32>"}, "%x = memref.load %a[%c0] : memref<?xf32>")
# CHECK:      memref<?xf32> cannot be written in C
# CHECK-NEXT:   note:
# CHECK-NEXT:   hint: use codegen='llvm', which supports more than C can express

refused({"a": "memref<4xi4>"}, "%x = memref.load %a[%c0] : memref<4xi4>")
# CHECK:      memref<4xi4> cannot be written in C

refused(
    {"a": "memref<4xf32, strided<[2]>>"},
    """
    %x = memref.load %a[%c0] : memref<4xf32, strided<[2]>>
    memref.store %x, %a[%c1] : memref<4xf32, strided<[2]>>""",
)
# CHECK:      a view of part of an array cannot be written in C

refused(
    {"a": "memref<4x4xf32>"},
    """
    %v = memref.reinterpret_cast %a to offset: [0], sizes: [2, 2], strides: [8, 1]
      : memref<4x4xf32> to memref<2x2xf32, strided<[8, 1]>>""",
)
# CHECK:      a view that is not contiguous cannot be written in C

numbers = ", ".join(str(n) for n in range(5000))
refused({}, "", f'memref.global "private" constant @t : memref<5000xi32> = dense<[{numbers}]>')
# CHECK:      the global t has 5000 elements, more than 4096
# CHECK-NEXT:   hint: pass the data as a constant tensor

refused({}, "", 'memref.global "private" @t : memref<4xi32>')
# CHECK:      the global t cannot be written in C

refused(
    {},
    "",
    'memref.global "private" constant @t : memref<2xi64> = dense_resource<x> {alignment = 8}',
)
# CHECK:      the global t has no table of numbers
