# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""Vectors that cannot be split to registers: masks, and elements of different types."""

from xtc.core.errors import CompileError
from xtc.ir import mlir
from xtc_passes.lower.split_vectors import SplitVectors


def refused(body: str) -> None:
    """Print why a function on a buffer, an index and a vector is not split."""
    text = f"func.func @f(%a: memref<8xf32>, %i: index, %v: vector<8xf32>) {{\n{body}\nreturn\n}}"
    with mlir.Context():
        try:
            SplitVectors().run(mlir.Module.parse(text).operation)
        except CompileError as error:
            print(error)


# The last elements may be beyond the buffer: a mask would have to omit them.
refused(
    """
    %p = arith.constant 0.0 : f32
    %w = vector.transfer_read %a[%i], %p : memref<8xf32>, vector<8xf32> loc("R"("net.py":9:1))"""
)
# CHECK:      net.py:9: vector.transfer_read may leave its buffer, or has a mask
# CHECK-NEXT:   note: %0 = vector.transfer_read %arg0[%arg1]
# CHECK-NEXT:   hint: leave the loop that becomes these vectors out of vectorize

refused("%w = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : vector<4xf32>")
# CHECK-NEXT: arith.constant has elements that differ

refused("%w = vector.broadcast %v : vector<8xf32> to vector<2x8xf32>")
# CHECK:      vector.broadcast broadcasts a vector

refused("%w = vector.extract %v[%i] : f32 from vector<8xf32>")
# CHECK:      vector.extract has a position that is not constant

refused("%w = vector.shuffle %v, %v [0, 8] : vector<8xf32>, vector<8xf32>")
# CHECK:      vector.shuffle is not known to split-vectors
