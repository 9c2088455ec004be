// RUN: xtc-opt %s --round-bf16 | FileCheck %s
// SPDX-License-Identifier: Apache-2.0

// The first operand of the instruction is the upper half of the pair.
// CHECK-LABEL: func.func @pairs
// CHECK: %[[A:.*]] = vector.extract %[[X:.*]][0] : f32
// CHECK: %[[B:.*]] = vector.extract %[[X]][1] : f32
// CHECK: %[[LOW:.*]] = llvm.inline_asm asm_dialect = att "cvt.rn.bf16x2.f32 $0, $1, $2;", "=r,f,f" %[[B]], %[[A]] : (f32, f32) -> i32
// CHECK: %[[HIGH:.*]] = llvm.inline_asm
// CHECK: %[[WORDS:.*]] = vector.from_elements %[[LOW]], %[[HIGH]] : vector<2xi32>
// CHECK: vector.bitcast %[[WORDS]] : vector<2xi32> to vector<4xbf16>
func.func @pairs(%x: vector<4xf32>) -> vector<4xbf16> {
  %y = arith.truncf %x : vector<4xf32> to vector<4xbf16>
  return %y : vector<4xbf16>
}

// CHECK-LABEL: func.func @singles
// CHECK: %[[BITS:.*]] = llvm.inline_asm asm_dialect = att "cvt.rn.bf16.f32 $0, $1;", "=h,f" %{{.*}} : (f32) -> i16
// CHECK: arith.bitcast %[[BITS]] : i16 to bf16
// CHECK-COUNT-3: cvt.rn.bf16.f32
// CHECK: vector.from_elements %{{.*}} : vector<3xbf16>
func.func @singles(%x: f32, %v: vector<3xf32>) -> (bf16, vector<3xbf16>) {
  %y = arith.truncf %x : f32 to bf16
  %w = arith.truncf %v : vector<3xf32> to vector<3xbf16>
  return %y, %w : bf16, vector<3xbf16>
}

// Other types and other roundings remain.
// CHECK-LABEL: func.func @others
// CHECK: arith.truncf %{{.*}} : f32 to f16
// CHECK: arith.truncf %{{.*}} toward_zero : f32 to bf16
func.func @others(%x: f32) -> (f16, bf16) {
  %y = arith.truncf %x : f32 to f16
  %z = arith.truncf %x toward_zero : f32 to bf16
  return %y, %z : f16, bf16
}
