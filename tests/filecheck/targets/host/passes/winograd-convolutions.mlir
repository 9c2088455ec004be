// RUN: xtc-opt %s --winograd-convolutions{l2-bytes=1048576} | FileCheck %s
// RUN: xtc-opt %s --winograd-convolutions{l2-bytes=1048576} | FileCheck %s --check-prefix=FILTERS
// RUN: xtc-opt %s '--winograd-convolutions{l2-bytes=2097152 parallel=false}' | FileCheck %s --check-prefix=WHOLE

#whole = affine_map<(n, h, w, f) -> (n, h, w, f)>
#channel = affine_map<(n, h, w, f) -> (f)>

// The transformed filters are computed when the artifact is built; the original ones are no longer
// read.

// FILTERS: xtc.transformed = {w.transformed = [@w, dense<{{.*}}> : tensor<4x3xf64>, array<i64: 0, 1>]}
// FILTERS-NOT: memref.global constant @w :
// FILTERS: memref.global constant @w.transformed : memref<16x64x64xf32>
// FILTERS: memref.global constant @narrow : memref<3x3x16x64xf32>
// FILTERS: memref.global constant @w2 : memref<3x3x64x64xf32>

memref.global constant @w : memref<3x3x64x64xf32>
memref.global constant @narrow : memref<3x3x16x64xf32>
memref.global constant @w2 : memref<3x3x64x64xf32>

// Bands of 7 rows of 14 tiles. The bias and the maximum are computed on the sums.

// CHECK-LABEL: func.func @convolution
// CHECK-NOT: linalg.conv_2d_nhwc_hwcf
// CHECK: scf.forall (%{{.*}}) in (2)
// CHECK:   tensor.extract_slice %{{.*}} [1, 16, 30, 64]
// CHECK:   linalg.generic {{.*}} outs(%{{.*}} : tensor<4x4x1x7x14x64xf32>)
// CHECK:     tensor.extract
// CHECK:   linalg.generic {{.*}} ins(%{{.*}} : tensor<16x98x64xf32>, tensor<16x64x64xf32>) {{.*}}__xtc_id_c_
// CHECK:   linalg.generic {{.*}} outs(%{{.*}} : tensor<1x7x2x14x2x64xf32>)
// CHECK:     arith.maximumf
// CHECK:   tensor.parallel_insert_slice %{{.*}} [1, 14, 28, 64]
// WHOLE-LABEL: func.func @convolution
// WHOLE-NOT: scf.forall
// WHOLE: outs(%{{.*}} : tensor<4x4x1x14x14x64xf32>)
func.func @convolution(%x: tensor<1x30x30x64xf32>, %b: tensor<64xf32>) -> tensor<1x28x28x64xf32> {
  %0 = memref.get_global @w : memref<3x3x64x64xf32>
  %w = bufferization.to_tensor %0 restrict : memref<3x3x64x64xf32> to tensor<3x3x64x64xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x28x28x64xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x28x28x64xf32>) -> tensor<1x28x28x64xf32>
  %y = linalg.conv_2d_nhwc_hwcf {__xtc_id_c_}
      ins(%x, %w : tensor<1x30x30x64xf32>, tensor<3x3x64x64xf32>)
      outs(%z : tensor<1x28x28x64xf32>) -> tensor<1x28x28x64xf32>
  %r = linalg.generic {indexing_maps = [#whole, #channel, #whole],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y, %b : tensor<1x28x28x64xf32>, tensor<64xf32>) outs(%e : tensor<1x28x28x64xf32>) {
  ^bb0(%p: f32, %q: f32, %old: f32):
    %s = arith.addf %p, %q : f32
    %m = arith.maximumf %s, %zero : f32
    linalg.yield %m : f32
  } -> tensor<1x28x28x64xf32>
  return %r : tensor<1x28x28x64xf32>
}

// An odd height is rounded up to 4 bands of 5 rows of tiles, the image with it; the maximum
// is computed on the sums.

// CHECK-LABEL: func.func @odd
// CHECK: tensor.insert_slice %arg0 into %{{.*}}[0, 1, 1, 0] {{.*}}tensor<1x42x40x64xf32>
// CHECK: scf.forall (%{{.*}}) in (4)
// CHECK:   linalg.generic {{.*}} outs(%{{.*}} : tensor<1x5x2x19x2x64xf32>)
// CHECK:     arith.maximumf
// CHECK:   tensor.parallel_insert_slice %{{.*}} [1, 10, 37, 64]
// CHECK: tensor.extract_slice %{{.*}} : tensor<1x40x37x64xf32> to tensor<1x37x37x64xf32>
func.func @odd(%x: tensor<1x37x37x64xf32>) -> tensor<1x37x37x64xf32> {
  %0 = memref.get_global @w : memref<3x3x64x64xf32>
  %w = bufferization.to_tensor %0 restrict : memref<3x3x64x64xf32> to tensor<3x3x64x64xf32>
  %zero = arith.constant 0.0 : f32
  %f = tensor.empty() : tensor<1x39x39x64xf32>
  %border = linalg.fill ins(%zero : f32) outs(%f : tensor<1x39x39x64xf32>) -> tensor<1x39x39x64xf32>
  %p = tensor.insert_slice %x into %border[0, 1, 1, 0] [1, 37, 37, 64] [1, 1, 1, 1]
      : tensor<1x37x37x64xf32> into tensor<1x39x39x64xf32>
  %e = tensor.empty() : tensor<1x37x37x64xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x37x37x64xf32>) -> tensor<1x37x37x64xf32>
  %y = linalg.conv_2d_nhwc_hwcf {__xtc_id_o_}
      ins(%p, %w : tensor<1x39x39x64xf32>, tensor<3x3x64x64xf32>)
      outs(%z : tensor<1x37x37x64xf32>) -> tensor<1x37x37x64xf32>
  %r = linalg.generic {indexing_maps = [#whole, #whole],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y : tensor<1x37x37x64xf32>) outs(%e : tensor<1x37x37x64xf32>) {
  ^bb0(%a: f32, %old: f32):
    %m = arith.maximumf %a, %zero : f32
    linalg.yield %m : f32
  } -> tensor<1x37x37x64xf32>
  return %r : tensor<1x37x37x64xf32>
}

// Too few channels to amortize the transforms.

// CHECK-LABEL: func.func @few_channels
// CHECK: linalg.conv_2d_nhwc_hwcf
func.func @few_channels(%x: tensor<1x30x30x16xf32>) -> tensor<1x28x28x64xf32> {
  %0 = memref.get_global @narrow : memref<3x3x16x64xf32>
  %w = bufferization.to_tensor %0 restrict : memref<3x3x16x64xf32> to tensor<3x3x16x64xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x28x28x64xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x28x28x64xf32>) -> tensor<1x28x28x64xf32>
  %y = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<1x30x30x16xf32>, tensor<3x3x16x64xf32>)
      outs(%z : tensor<1x28x28x64xf32>) -> tensor<1x28x28x64xf32>
  return %y : tensor<1x28x28x64xf32>
}

// With a stride fewer results share their inputs.

// CHECK-LABEL: func.func @stride
// CHECK: linalg.conv_2d_nhwc_hwcf
func.func @stride(%x: tensor<1x57x57x64xf32>) -> tensor<1x28x28x64xf32> {
  %0 = memref.get_global @w2 : memref<3x3x64x64xf32>
  %w = bufferization.to_tensor %0 restrict : memref<3x3x64x64xf32> to tensor<3x3x64x64xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x28x28x64xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x28x28x64xf32>) -> tensor<1x28x28x64xf32>
  %y = linalg.conv_2d_nhwc_hwcf {strides = dense<2> : tensor<2xi64>}
      ins(%x, %w : tensor<1x57x57x64xf32>, tensor<3x3x64x64xf32>)
      outs(%z : tensor<1x28x28x64xf32>) -> tensor<1x28x28x64xf32>
  return %y : tensor<1x28x28x64xf32>
}
