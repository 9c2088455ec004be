// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s '--pad-by-blocks{bytes=5120}' --canonicalize | FileCheck %s

// Four iterations of the loop over rows read 9 rows of the padded image, which are padded before
// them. Rows outside of the image are filled, the others copied.

// CHECK-LABEL: func.func @rows
// CHECK-NOT:   tensor<1x34x34x4xf32>
// CHECK:       scf.for %[[BLOCK:.*]] = %c0{{.*}} to %c16{{.*}} step %c4{{.*}} iter_args(%[[OUT:.*]] = %{{.*}})
// CHECK:         %[[BASE:.*]] = arith.muli %[[BLOCK]], %c2
// CHECK:         %[[EMPTY:.*]] = tensor.empty() : tensor<1x9x34x4xf32>
// CHECK:         tensor.extract_slice %[[EMPTY]][0, 0, 0, 0] [1, 9, 1, 4] [1, 1, 1, 1]
// CHECK:         linalg.fill
// CHECK:         %[[ABOVE:.*]] = scf.for %[[R:.*]] = %c0
// CHECK:           tensor.extract_slice %{{.*}}[0, %[[R]], 0, 0] [1, 1, 34, 4] [1, 1, 1, 1]
// CHECK:           linalg.fill
// CHECK:         %[[INSIDE:.*]] = scf.for %[[S:.*]] = %{{.*}} iter_args(%{{.*}} = %[[ABOVE]])
// CHECK:           %[[ROW:.*]] = tensor.extract_slice %arg0[0, %{{.*}}, 0, 0] [1, 1, 32, 4] [1, 1, 1, 1]
// CHECK:           tensor.insert_slice %[[ROW]] into %{{.*}}[0, %[[S]], 1, 0] [1, 1, 32, 4]
// CHECK:         %[[PADDED:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[INSIDE]])
// CHECK:         %[[END:.*]] = arith.addi %[[BLOCK]], %c4
// CHECK:         scf.for %[[H:.*]] = %[[BLOCK]] to %[[END]] step %c1{{.*}} iter_args(%{{.*}} = %[[OUT]])
// CHECK:           tensor.extract_slice %[[PADDED]][0, %{{.*}}, 0, 0] [1, 3, 33, 4] [1, 1, 1, 1]
// CHECK:         } {"./h"}
func.func @rows(%x: tensor<1x32x32x4xf32>, %y: tensor<16xf32>) -> tensor<16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %v = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x34x34x4xf32>
  %f = linalg.fill ins(%v : f32) outs(%e : tensor<1x34x34x4xf32>) -> tensor<1x34x34x4xf32>
  %p = tensor.insert_slice %x into %f[0, 1, 1, 0] [1, 32, 32, 4] [1, 1, 1, 1] : tensor<1x32x32x4xf32> into tensor<1x34x34x4xf32>
  %r = scf.for %h = %c0 to %c16 step %c1 iter_args(%to = %y) -> (tensor<16xf32>) {
    %first = arith.muli %h, %c2 : index
    %s = tensor.extract_slice %p[0, %first, 0, 0] [1, 3, 33, 4] [1, 1, 1, 1] : tensor<1x34x34x4xf32> to tensor<1x3x33x4xf32>
    %t = tensor.extract %s[%c0, %c2, %c1, %c0] : tensor<1x3x33x4xf32>
    %n = tensor.insert %t into %to[%h] : tensor<16xf32>
    scf.yield %n : tensor<16xf32>
  } {"./h"}
  return %r : tensor<16xf32>
}

// A computed image is computed in place of the interior, without a copy.

// CHECK-LABEL: func.func @computed
// CHECK:       tensor.insert_slice %{{.*}} into %{{.*}}[0, 1, 1, 0] [1, 32, 32, 4]
func.func @computed(%x: tensor<1x32x32x4xf32>, %y: tensor<16xf32>) -> tensor<16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %v = arith.constant 0.0 : f32
  %i = tensor.empty() : tensor<1x32x32x4xf32>
  %exp = linalg.exp ins(%x : tensor<1x32x32x4xf32>) outs(%i : tensor<1x32x32x4xf32>) -> tensor<1x32x32x4xf32>
  %e = tensor.empty() : tensor<1x34x34x4xf32>
  %f = linalg.fill ins(%v : f32) outs(%e : tensor<1x34x34x4xf32>) -> tensor<1x34x34x4xf32>
  %p = tensor.insert_slice %exp into %f[0, 1, 1, 0] [1, 32, 32, 4] [1, 1, 1, 1] : tensor<1x32x32x4xf32> into tensor<1x34x34x4xf32>
  %r = scf.for %h = %c0 to %c16 step %c1 iter_args(%to = %y) -> (tensor<16xf32>) {
    %s = tensor.extract_slice %p[0, %h, 0, 0] [1, 3, 33, 4] [1, 1, 1, 1] : tensor<1x34x34x4xf32> to tensor<1x3x33x4xf32>
    %t = tensor.extract %s[%c0, %c1, %c1, %c0] : tensor<1x3x33x4xf32>
    %n = tensor.insert %t into %to[%h] : tensor<16xf32>
    scf.yield %n : tensor<16xf32>
  }
  return %r : tensor<16xf32>
}

// The whole padded image has another reader.

// CHECK-LABEL: func.func @whole
// CHECK:       tensor.insert_slice %{{.*}} into %{{.*}}[0, 1, 1, 0] [1, 32, 32, 4]
func.func @whole(%x: tensor<1x32x32x4xf32>, %y: tensor<16xf32>) -> (tensor<16xf32>, tensor<1x34x34x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %v = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x34x34x4xf32>
  %f = linalg.fill ins(%v : f32) outs(%e : tensor<1x34x34x4xf32>) -> tensor<1x34x34x4xf32>
  %p = tensor.insert_slice %x into %f[0, 1, 1, 0] [1, 32, 32, 4] [1, 1, 1, 1] : tensor<1x32x32x4xf32> into tensor<1x34x34x4xf32>
  %r = scf.for %h = %c0 to %c16 step %c1 iter_args(%to = %y) -> (tensor<16xf32>) {
    %s = tensor.extract_slice %p[0, %h, 0, 0] [1, 3, 33, 4] [1, 1, 1, 1] : tensor<1x34x34x4xf32> to tensor<1x3x33x4xf32>
    %t = tensor.extract %s[%c0, %c1, %c1, %c0] : tensor<1x3x33x4xf32>
    %n = tensor.insert %t into %to[%h] : tensor<16xf32>
    scf.yield %n : tensor<16xf32>
  }
  return %r, %p : tensor<16xf32>, tensor<1x34x34x4xf32>
}
