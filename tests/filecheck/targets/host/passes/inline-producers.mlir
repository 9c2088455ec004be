// RUN: xtc-opt %s --inline-producers | FileCheck %s

#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
#column = affine_map<(d0, d1) -> (d0)>

// Codes are read as stored, their scales along the vector, and values shared by a row once.

// CHECK-LABEL: func.func @weights
// CHECK-NOT: linalg.generic
// CHECK: scf.for %[[K:.*]] = %c0 to %c16
// CHECK: %[[CODES:.*]] = vector.transfer_read %arg0[%[[K]], %{{.*}}], %{{.*}} {in_bounds = [true]} : tensor<16x64xi8>, vector<64xi8>
// CHECK: %[[SCALES:.*]] = vector.transfer_read %arg1[%{{.*}}], %{{.*}} {in_bounds = [true]} : tensor<64xf32>, vector<64xf32>
// CHECK: %[[SHARED:.*]] = vector.transfer_read %arg2[%[[K]]], %{{.*}} {in_bounds = [true], permutation_map = #{{.*}}} : tensor<16xf32>, vector<64xf32>
// CHECK: %[[NUMBERS:.*]] = arith.sitofp %[[CODES]] : vector<64xi8> to vector<64xf32>
// CHECK: %[[TWO:.*]] = vector.broadcast %{{.*}} : f32 to vector<64xf32>
// CHECK: %[[TWICE:.*]] = arith.mulf %[[NUMBERS]], %[[TWO]]
// CHECK: %[[SCALED:.*]] = arith.mulf %[[TWICE]], %[[SCALES]]
// CHECK: %[[RESULT:.*]] = arith.addf %[[SCALED]], %[[SHARED]]
// CHECK: scf.for
// CHECK-NOT: transfer_read
// CHECK: arith.addf %{{.*}}, %[[RESULT]]
func.func @weights(%codes: tensor<16x64xi8>, %scales: tensor<64xf32>, %shared: tensor<16xf32>, %first: vector<64xf32>) -> vector<64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %rest = ub.poison : f32
  %e = tensor.empty() : tensor<16x64xf32>
  %w = linalg.generic {indexing_maps = [#all, #row, #column, #all], iterator_types = ["parallel", "parallel"]}
      ins(%codes, %scales, %shared : tensor<16x64xi8>, tensor<64xf32>, tensor<16xf32>) outs(%e : tensor<16x64xf32>) {
  ^bb0(%code: i8, %scale: f32, %offset: f32, %out: f32):
    %two = arith.constant 2.0 : f32
    %number = arith.sitofp %code : i8 to f32
    %twice = arith.mulf %number, %two : f32
    %scaled = arith.mulf %twice, %scale : f32
    %moved = arith.addf %scaled, %offset : f32
    linalg.yield %moved : f32
  } -> tensor<16x64xf32>
  %last = scf.for %k = %c0 to %c16 step %c1 iter_args(%sum = %first) -> (vector<64xf32>) {
    %row = tensor.extract_slice %w[%k, 0] [1, 64] [1, 1] : tensor<16x64xf32> to tensor<1x64xf32>
    %rows = scf.for %i = %c0 to %c2 step %c1 iter_args(%part = %sum) -> (vector<64xf32>) {
      %line = tensor.extract_slice %row[0, 0] [1, 64] [1, 1] : tensor<1x64xf32> to tensor<64xf32>
      %v = vector.transfer_read %line[%c0], %rest {in_bounds = [true]} : tensor<64xf32>, vector<64xf32>
      %t = arith.addf %part, %v : vector<64xf32>
      scf.yield %t : vector<64xf32>
    }
    scf.yield %rows : vector<64xf32>
  }
  return %last : vector<64xf32>
}

// An enclosing loop reads the same part again: it is computed once, into a buffer.

// CHECK-LABEL: func.func @twice
// CHECK: linalg.generic
// CHECK: vector.transfer_read %{{.*}} : tensor<64xf32>, vector<64xf32>
func.func @twice(%codes: tensor<16x64xi8>, %first: vector<64xf32>) -> vector<64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %rest = ub.poison : f32
  %e = tensor.empty() : tensor<16x64xf32>
  %w = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%codes : tensor<16x64xi8>) outs(%e : tensor<16x64xf32>) {
  ^bb0(%code: i8, %out: f32):
    %number = arith.sitofp %code : i8 to f32
    linalg.yield %number : f32
  } -> tensor<16x64xf32>
  %last = scf.for %i = %c0 to %c2 step %c1 iter_args(%before = %first) -> (vector<64xf32>) {
    %rows = scf.for %k = %c0 to %c16 step %c1 iter_args(%sum = %before) -> (vector<64xf32>) {
      %line = tensor.extract_slice %w[%k, 0] [1, 64] [1, 1] : tensor<16x64xf32> to tensor<64xf32>
      %v = vector.transfer_read %line[%c0], %rest {in_bounds = [true]} : tensor<64xf32>, vector<64xf32>
      %t = arith.addf %sum, %v : vector<64xf32>
      scf.yield %t : vector<64xf32>
    }
    scf.yield %rows : vector<64xf32>
  }
  return %last : vector<64xf32>
}

// A function of the mathematics library is not computed on vectors that may be split.

// CHECK-LABEL: func.func @function
// CHECK: linalg.generic
func.func @function(%a: tensor<64xf32>) -> vector<64xf32> {
  %c0 = arith.constant 0 : index
  %rest = ub.poison : f32
  %e = tensor.empty() : tensor<64xf32>
  %w = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%a : tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %exp = math.exp %in : f32
    linalg.yield %exp : f32
  } -> tensor<64xf32>
  %v = vector.transfer_read %w[%c0], %rest {in_bounds = [true]} : tensor<64xf32>, vector<64xf32>
  return %v : vector<64xf32>
}
