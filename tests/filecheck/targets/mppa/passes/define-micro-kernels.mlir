// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --define-micro-kernels | FileCheck %s

// CHECK-LABEL: func.func private @uk_mma_2x16_f16
// CHECK-SAME: llvm.linkage = #llvm.linkage<internal>
// CHECK-COUNT-2: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<16xf32>
// CHECK: %[[SUMS:.*]]:2 = scf.for %{{.*}} = %{{.*}} to %arg0 step %{{.*}} iter_args(
// CHECK: %[[NARROW:.*]] = llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr -> vector<16xf16>
// CHECK: %[[ROW:.*]] = arith.extf %[[NARROW]] : vector<16xf16> to vector<16xf32>
// CHECK-COUNT-2: vector.fma %{{.*}}, %[[ROW]], %{{.*}} : vector<16xf32>
// CHECK-COUNT-2: llvm.store %[[SUMS]]#{{.}}, %{{.*}} : vector<16xf32>, !llvm.ptr
func.func private @uk_mma_2x16_f16(index, index, index, index, index, index, index, index)

// CHECK-LABEL: func.func private @uk_mma_1x3_i8
// CHECK: arith.extsi %{{.*}} : vector<3xi8> to vector<3xi32>
// CHECK: arith.muli {{.*}} : vector<3xi32>
// CHECK: arith.addi {{.*}} : vector<3xi32>
func.func private @uk_mma_1x3_i8(index, index, index, index, index, index, index, index)
