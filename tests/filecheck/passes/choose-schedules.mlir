// RUN: xtc-opt %s '--choose-schedules{vector-bits=512 registers=32 l2-bytes=1048576}' | FileCheck %s
// RUN: xtc-opt %s '--choose-schedules{vector-bits=256 registers=16 parallel=false}' | FileCheck %s --check-prefix=AVX2

// The operand with the vectors is small enough to be read in place.

// CHECK-LABEL: func.func @small
// CHECK: loop.schedule = ["j=parallelize", "i", "k", "i#8=unroll", "j#32=vectorize"]
// AVX2-LABEL: func.func @small
// AVX2: loop.schedule = ["j", "i", "k", "i#6=unroll", "j#16=vectorize"]
func.func @small(%a: tensor<192x128xf32>, %b: tensor<128x128xf32>, %c: tensor<192x128xf32>) -> tensor<192x128xf32> {
  %0 = linalg.matmul {loop.dims = ["i", "j", "k"]} ins(%a, %b : tensor<192x128xf32>, tensor<128x128xf32>) outs(%c : tensor<192x128xf32>) -> tensor<192x128xf32>
  return %0 : tensor<192x128xf32>
}

// A panel of it is copied, a block of the sum at a time.

// CHECK-LABEL: func.func @large
// CHECK: loop.schedule = ["j=parallelize", "k=pack:1", "j#128", "i", "k#512", "i#8=unroll", "j#32=vectorize"]
func.func @large(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>, %c: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %0 = linalg.matmul {loop.dims = ["i", "j", "k"]} ins(%a, %b : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%c : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %0 : tensor<1024x1024xf32>
}

// Few rows: they are one register tile, and nothing is copied that is read once.

// CHECK-LABEL: func.func @few_rows
// CHECK: loop.schedule = ["j=parallelize", "k", "i=unroll", "j#32=vectorize"]
func.func @few_rows(%a: tensor<8x1024xf32>, %b: tensor<1024x1024xf32>, %c: tensor<8x1024xf32>) -> tensor<8x1024xf32> {
  %0 = linalg.matmul {loop.dims = ["i", "j", "k"]} ins(%a, %b : tensor<8x1024xf32>, tensor<1024x1024xf32>) outs(%c : tensor<8x1024xf32>) -> tensor<8x1024xf32>
  return %0 : tensor<8x1024xf32>
}

// What is small is left alone, and so is what the user has scheduled.

// CHECK-LABEL: func.func @left_alone
// CHECK-NOT: parallelize
func.func @left_alone(%a: tensor<16x16xf32>, %b: tensor<512x512xf32>, %c: tensor<16x16xf32>, %d: tensor<512x512xf32>) -> (tensor<16x16xf32>, tensor<512x512xf32>) {
  %0 = linalg.matmul {loop.dims = ["i", "j", "k"]} ins(%a, %a : tensor<16x16xf32>, tensor<16x16xf32>) outs(%c : tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = linalg.matmul {loop.dims = ["i", "j", "k"], loop.schedule = ["j", "i", "k"]} ins(%b, %b : tensor<512x512xf32>, tensor<512x512xf32>) outs(%d : tensor<512x512xf32>) -> tensor<512x512xf32>
  return %0, %1 : tensor<16x16xf32>, tensor<512x512xf32>
}
