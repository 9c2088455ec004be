// RUN: xtc-opt %s --skip-padded-taps --canonicalize | FileCheck %s

// Along the one dimension that is longer than a tap, the first tap reads pixels of the image for the
// last three of its nine results, the second for all, the third for the first three.

// CHECK-LABEL: func.func @far
// CHECK-NOT: tensor<1x21x5x4xf32>
// CHECK: %[[X0:.*]] = tensor.extract_slice %arg0[0, 0, 0, 0] [1, 3, 5, 4] [1, 1, 1, 1]
// CHECK: %[[W0:.*]] = tensor.extract_slice %arg1[0, 0, 0, 0] [1, 1, 4, 8] [1, 1, 1, 1]
// CHECK: %[[C0:.*]] = tensor.extract_slice %arg2[0, 6, 0, 0] [1, 3, 5, 8] [1, 1, 1, 1]
// CHECK: %[[Y0:.*]] = linalg.conv_2d_nhwc_hwcf {dilations = dense<[6, 1]> {{.*}} ins(%[[X0]], %[[W0]] : {{.*}}) outs(%[[C0]]
// CHECK: %[[D0:.*]] = tensor.insert_slice %[[Y0]] into %arg2[0, 6, 0, 0]
// CHECK: %[[W1:.*]] = tensor.extract_slice %arg1[1, 0, 0, 0]
// CHECK: %[[Y1:.*]] = linalg.conv_2d_nhwc_hwcf {{.*}} ins(%arg0, %[[W1]] : {{.*}}) outs(%[[D0]]
// CHECK: %[[X2:.*]] = tensor.extract_slice %arg0[0, 6, 0, 0] [1, 3, 5, 4]
// CHECK: %[[C2:.*]] = tensor.extract_slice %[[Y1]][0, 0, 0, 0] [1, 3, 5, 8]
// CHECK: %[[Y2:.*]] = linalg.conv_2d_nhwc_hwcf
// CHECK: tensor.insert_slice %[[Y2]] into %[[Y1]][0, 0, 0, 0]
func.func @far(%x: tensor<1x9x5x4xf32>, %w: tensor<3x1x4x8xf32>, %c: tensor<1x9x5x8xf32>) -> tensor<1x9x5x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x21x5x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x21x5x4xf32>) -> tensor<1x21x5x4xf32>
  %p = tensor.insert_slice %x into %f[0, 6, 0, 0] [1, 9, 5, 4] [1, 1, 1, 1] : tensor<1x9x5x4xf32> into tensor<1x21x5x4xf32>
  %y = linalg.conv_2d_nhwc_hwcf {dilations = dense<[6, 1]> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%p, %w : tensor<1x21x5x4xf32>, tensor<3x1x4x8xf32>) outs(%c : tensor<1x9x5x8xf32>) -> tensor<1x9x5x8xf32>
  return %y : tensor<1x9x5x8xf32>
}

// Few of the multiplications are by zeros: it stays one sum.

// CHECK-LABEL: func.func @near
// CHECK: linalg.conv_2d_nhwc_hwcf {{.*}} ins(%{{.*}}, %arg1
// CHECK-NOT: linalg.conv_2d_nhwc_hwcf
func.func @near(%x: tensor<1x9x5x4xf32>, %w: tensor<3x1x4x8xf32>, %c: tensor<1x9x5x8xf32>) -> tensor<1x9x5x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x11x5x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x11x5x4xf32>) -> tensor<1x11x5x4xf32>
  %p = tensor.insert_slice %x into %f[0, 1, 0, 0] [1, 9, 5, 4] [1, 1, 1, 1] : tensor<1x9x5x4xf32> into tensor<1x11x5x4xf32>
  %y = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%p, %w : tensor<1x11x5x4xf32>, tensor<3x1x4x8xf32>) outs(%c : tensor<1x9x5x8xf32>) -> tensor<1x9x5x8xf32>
  return %y : tensor<1x9x5x8xf32>
}

// A border of other values than zero is read.

// CHECK-LABEL: func.func @ones
// CHECK: linalg.conv_2d_nhwc_hwcf {{.*}} ins(%{{.*}}, %arg1
// CHECK-NOT: linalg.conv_2d_nhwc_hwcf
func.func @ones(%x: tensor<1x9x5x4xf32>, %w: tensor<3x1x4x8xf32>, %c: tensor<1x9x5x8xf32>) -> tensor<1x9x5x8xf32> {
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<1x21x5x4xf32>
  %f = linalg.fill ins(%one : f32) outs(%e : tensor<1x21x5x4xf32>) -> tensor<1x21x5x4xf32>
  %p = tensor.insert_slice %x into %f[0, 6, 0, 0] [1, 9, 5, 4] [1, 1, 1, 1] : tensor<1x9x5x4xf32> into tensor<1x21x5x4xf32>
  %y = linalg.conv_2d_nhwc_hwcf {dilations = dense<[6, 1]> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%p, %w : tensor<1x21x5x4xf32>, tensor<3x1x4x8xf32>) outs(%c : tensor<1x9x5x8xf32>) -> tensor<1x9x5x8xf32>
  return %y : tensor<1x9x5x8xf32>
}
