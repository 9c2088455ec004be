// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --set-index-width{bits=32} | FileCheck %s
// RUN: xtc-opt %s --set-index-width{bits=32} --convert-scf-to-cf '--convert-func-to-llvm{use-bare-ptr-memref-call-conv=1 index-bitwidth=32}' '--convert-to-llvm{dynamic=1}' --reconcile-unrealized-casts | FileCheck %s --check-prefix=LLVM
// RUN: not xtc-opt %s --set-index-width{bits=0} 2>&1 | FileCheck %s --check-prefix=ZERO

// CHECK: module attributes {dlti.dl_spec = #dlti.dl_spec<index = 32 : i64>}
// CHECK: memref.load %{{.*}}[%{{.*}}] : memref<8xf32>

// LLVM-LABEL: llvm.func @sum
// LLVM: llvm.add %{{.*}}, %{{.*}} : i32
// LLVM: llvm.getelementptr {{.*}}(!llvm.ptr, i32) -> !llvm.ptr, f32
// LLVM-NOT: unrealized_conversion_cast

// ZERO: option 'bits' of pass 'set-index-width' is 0
func.func @sum(%a: memref<8xf32>, %i: index, %j: index) -> f32 {
  %k = arith.addi %i, %j : index
  %x = memref.load %a[%k] : memref<8xf32>
  return %x : f32
}
