// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --fill-borders | FileCheck %s
// RUN: xtc-opt %s --fill-borders{parallel=true} | FileCheck %s --check-prefix=SHARED
// RUN: xtc-opt %s --fill-borders{once=true} | FileCheck %s --check-prefix=ONCE

// Rows above and below are filled as wide as the result, then the columns beside the interior. Empty
// borders are not filled.

// CHECK-LABEL: func.func @border
// CHECK:       %[[EMPTY:.*]] = tensor.empty() : tensor<6x11xf32>
// CHECK:       %[[ABOVE:.*]] = tensor.extract_slice %[[EMPTY]][0, 0] [1, 11] [1, 1]
// CHECK:       %[[FILLED:.*]] = linalg.fill {__xtc_id_y.pad_} ins(%{{.*}} : f32) outs(%[[ABOVE]] : tensor<1x11xf32>)
// CHECK:       %[[ONE:.*]] = tensor.insert_slice %[[FILLED]] into %[[EMPTY]][0, 0] [1, 11] [1, 1]
// CHECK:       tensor.extract_slice %[[ONE]][5, 0] [1, 11] [1, 1]
// CHECK:       tensor.extract_slice %{{.*}}[1, 8] [4, 3] [1, 1]
// CHECK:       linalg.fill {{.*}} outs(%{{.*}} : tensor<4x3xf32>)
// CHECK:       %[[LAST:.*]] = tensor.insert_slice %{{.*}} into %{{.*}}[1, 8] [4, 3] [1, 1]
// CHECK-NOT:   linalg.fill
// CHECK:       tensor.insert_slice %arg0 into %[[LAST]][1, 0] [4, 8] [1, 1]
// SHARED-LABEL: func.func @border
// SHARED-NOT:   scf.forall
func.func @border(%x: tensor<4x8xf32>) -> tensor<6x11xf32> {
  %v = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<6x11xf32>
  %f = linalg.fill {__xtc_id_y.pad_} ins(%v : f32) outs(%e : tensor<6x11xf32>) -> tensor<6x11xf32>
  %p = tensor.insert_slice %x into %f[1, 0] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<6x11xf32>
  return %p : tensor<6x11xf32>
}

// Another reader of the fill needs all of it.

// CHECK-LABEL: func.func @read
// CHECK:       linalg.fill {{.*}} -> tensor<6x8xf32>
// CHECK-NEXT:  tensor.insert_slice
// CHECK-NEXT:  return
func.func @read(%x: tensor<4x8xf32>) -> (tensor<6x8xf32>, tensor<6x8xf32>) {
  %v = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<6x8xf32>
  %f = linalg.fill ins(%v : f32) outs(%e : tensor<6x8xf32>) -> tensor<6x8xf32>
  %p = tensor.insert_slice %x into %f[1, 0] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<6x8xf32>
  return %p, %f : tensor<6x8xf32>, tensor<6x8xf32>
}

// Every other column of the fill stays.

// CHECK-LABEL: func.func @strided
// CHECK:       linalg.fill {{.*}} -> tensor<4x16xf32>
// CHECK-NEXT:  tensor.insert_slice
func.func @strided(%x: tensor<4x8xf32>) -> tensor<4x16xf32> {
  %v = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<4x16xf32>
  %f = linalg.fill ins(%v : f32) outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32>
  %p = tensor.insert_slice %x into %f[0, 0] [4, 8] [1, 2] : tensor<4x8xf32> into tensor<4x16xf32>
  return %p : tensor<4x16xf32>
}

// Threads share the rows of a large interior that is already in memory.

// SHARED-LABEL: func.func @large
// SHARED:       scf.forall (%[[ROW:.*]]) in (512) shared_outs(%[[ALL:.*]] = %{{.*}}) -> (tensor<1x514x516xf32>)
// SHARED:         %[[PART:.*]] = tensor.extract_slice %arg0[0, %[[ROW]], 0] [1, 1, 512] [1, 1, 1]
// SHARED:         %[[PLACE:.*]] = arith.addi
// SHARED:         tensor.parallel_insert_slice %[[PART]] into %[[ALL]][0, %[[PLACE]], 2] [1, 1, 512] [1, 1, 1]
// CHECK-LABEL:  func.func @large
// CHECK-NOT:    scf.forall
func.func @large(%x: tensor<1x512x512xf32>) -> tensor<1x514x516xf32> {
  %v = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x514x516xf32>
  %f = linalg.fill ins(%v : f32) outs(%e : tensor<1x514x516xf32>) -> tensor<1x514x516xf32>
  %p = tensor.insert_slice %x into %f[0, 1, 2] [1, 512, 512] [1, 1, 1] : tensor<1x512x512xf32> into tensor<1x514x516xf32>
  return %p : tensor<1x514x516xf32>
}

// A computed interior is computed in place later, without a copy.

// SHARED-LABEL: func.func @computed
// SHARED-NOT:   scf.forall
func.func @computed(%x: tensor<1x512x512xf32>) -> tensor<1x514x516xf32> {
  %v = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x514x516xf32>
  %i = tensor.empty() : tensor<1x512x512xf32>
  %y = linalg.exp ins(%x : tensor<1x512x512xf32>) outs(%i : tensor<1x512x512xf32>) -> tensor<1x512x512xf32>
  %f = linalg.fill ins(%v : f32) outs(%e : tensor<1x514x516xf32>) -> tensor<1x514x516xf32>
  %p = tensor.insert_slice %y into %f[0, 1, 2] [1, 512, 512] [1, 1, 1] : tensor<1x512x512xf32> into tensor<1x514x516xf32>
  return %p : tensor<1x514x516xf32>
}

// Two operators that pad one tensor with the same value and the same border share the result.

// ONCE-LABEL: func.func @twice
// ONCE-COUNT-2: linalg.fill
// ONCE:         %[[ZEROS:.*]] = tensor.insert_slice %arg0 into %{{.*}}[1] [4] [1]
// ONCE-COUNT-2: linalg.fill
// ONCE:         %[[ONES:.*]] = tensor.insert_slice %arg0 into %{{.*}}[1] [4] [1]
// ONCE-NOT:     linalg.fill
// ONCE:         return %[[ZEROS]], %[[ZEROS]], %[[ONES]]
func.func @twice(%x: tensor<4xf32>) -> (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<6xf32>
  %f = linalg.fill {__xtc_id_y.pad_} ins(%zero : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
  %p = tensor.insert_slice %x into %f[1] [4] [1] : tensor<4xf32> into tensor<6xf32>
  %g = linalg.fill {__xtc_id_z.pad_} ins(%zero : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
  %q = tensor.insert_slice %x into %g[1] [4] [1] : tensor<4xf32> into tensor<6xf32>
  %h = linalg.fill {__xtc_id_w.pad_} ins(%one : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
  %r = tensor.insert_slice %x into %h[1] [4] [1] : tensor<4xf32> into tensor<6xf32>
  return %p, %q, %r : tensor<6xf32>, tensor<6xf32>, tensor<6xf32>
}
