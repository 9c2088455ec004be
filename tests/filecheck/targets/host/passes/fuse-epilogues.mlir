// RUN: xtc-opt %s --fuse-epilogues | FileCheck %s

// The schedule begins with loops over axes of the result: the activation follows inside of them, the
// initial values precede, and the rest of the schedule stays with the contraction. The last rows are
// not a whole tile. Prologue and epilogue become vectors, and read the sum from its destination.

// CHECK-LABEL: func.func @product
// CHECK:       %[[MAIN:.*]] = scf.for %[[I:.*]] = %{{.*}} to %c16{{.*}} step %c8{{.*}} iter_args(%[[INTO:.*]] = %{{.*}})
// CHECK:         scf.for %[[J:.*]] = %{{.*}} to %c32{{.*}} step %c16{{.*}} iter_args(%[[ROWS:.*]] = %{{.*}})
// CHECK:           %[[ZERO:.*]] = linalg.fill {{.*}}[{axis = "d0", unroll = -1 : i64}, {axis = "d1", vectorize}]{{.*}} outs(%{{.*}} : tensor<8x16xf32>)
// CHECK:           %[[SUM:.*]] = linalg.generic {{.*}} outs(%[[ZERO]] : tensor<8x16xf32>)
// CHECK-SAME:        loop.schedule = [{axis = "k"}, {axis = "i", unroll = 8 : i64}, {axis = "j", vectorize}]
// CHECK:           %[[TILE:.*]] = linalg.generic {{.*}} ins(%[[SUM]] : tensor<8x16xf32>)
// CHECK-SAME:        loop.schedule = [{axis = "d0", unroll = -1 : i64}, {axis = "d1", vectorize}]
// CHECK-NEXT:      ^bb0(%{{.*}}: f32, %[[WRITTEN:.*]]: f32):
// CHECK-NEXT:        arith.maximumf %[[WRITTEN]], %{{.*}}
// CHECK:           tensor.insert_slice %[[TILE]] into %[[ROWS]][0, %[[J]]]
// CHECK:         } {"./j"}
// CHECK:         tensor.insert_slice %{{.*}} into %[[INTO]][%[[I]], 0]
// CHECK:       } {"./i"}
// CHECK:       linalg.generic {{.*}} outs(%{{.*}} : tensor<4x16xf32>)
// CHECK-SAME:    loop.schedule = [{axis = "k"}, {axis = "i", unroll = 4 : i64}, {axis = "j", vectorize}]
// CHECK:       linalg.generic {{.*}} ins(%{{.*}} : tensor<4x16xf32>)
// CHECK:         arith.maximumf
// CHECK:       tensor.insert_slice %{{.*}} into %[[MAIN]][16, 0]
func.func @product(%a: tensor<20x64xf32>, %b: tensor<64x32xf32>) -> tensor<20x32xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<20x32xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<20x32xf32>) -> tensor<20x32xf32>
  %sum = linalg.matmul {loop.dims = ["i", "j", "k"], loop.schedule = ["i", "j", "k", "i#8=unroll", "j#16=vectorize"]}
    ins(%a, %b : tensor<20x64xf32>, tensor<64x32xf32>) outs(%init : tensor<20x32xf32>) -> tensor<20x32xf32>
  %out = tensor.empty() : tensor<20x32xf32>
  %result = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%sum : tensor<20x32xf32>) outs(%out : tensor<20x32xf32>) {
  ^bb0(%x: f32, %y: f32):
    %m = arith.maximumf %x, %zero : f32
    linalg.yield %m : f32
  } -> tensor<20x32xf32>
  return %result : tensor<20x32xf32>
}

// Threads share the loop over columns, and each copies its panel.

// CHECK-LABEL: func.func @parallel
// CHECK:       scf.forall (%[[J:.*]]) in (2) shared_outs
// CHECK:         %[[PANEL:.*]] = bufferization.alloc_tensor() copy(%{{.*}}) : tensor<64x16xf32>
// CHECK:         scf.for
// CHECK:           linalg.generic {{.*}} ins(%{{.*}}, %[[PANEL]] : tensor<1x64xf32>, tensor<64x16xf32>)
// CHECK-SAME:        loop.schedule = [{axis = "k"}, {axis = "j", vectorize}]
// CHECK:             math.exp
// CHECK:         } {"./i"}
// CHECK:         tensor.parallel_insert_slice %{{.*}}[0, %{{.*}}] [20, 16]
// CHECK:       } {"./j"}
func.func @parallel(%a: tensor<20x64xf32>, %b: tensor<64x32xf32>, %c: tensor<20x32xf32>) -> tensor<20x32xf32> {
  %sum = linalg.matmul {loop.dims = ["i", "j", "k"], loop.schedule = ["j=parallelize,pack:1", "i", "k", "j#16=vectorize"]}
    ins(%a, %b : tensor<20x64xf32>, tensor<64x32xf32>) outs(%c : tensor<20x32xf32>) -> tensor<20x32xf32>
  %out = tensor.empty() : tensor<20x32xf32>
  %result = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%sum : tensor<20x32xf32>) outs(%out : tensor<20x32xf32>) {
  ^bb0(%x: f32, %y: f32):
    %e = math.exp %x : f32
    linalg.yield %e : f32
  } -> tensor<20x32xf32>
  return %result : tensor<20x32xf32>
}

// If the reduction is outermost, an element is complete only at the end of all loops.

// CHECK-LABEL: func.func @sum_outermost
// CHECK-NOT:   scf.for
// CHECK:       return
func.func @sum_outermost(%a: tensor<20x64xf32>, %b: tensor<64x32xf32>, %c: tensor<20x32xf32>) -> tensor<20x32xf32> {
  %sum = linalg.matmul {loop.dims = ["i", "j", "k"], loop.schedule = ["k", "i", "j"]}
    ins(%a, %b : tensor<20x64xf32>, tensor<64x32xf32>) outs(%c : tensor<20x32xf32>) -> tensor<20x32xf32>
  %out = tensor.empty() : tensor<20x32xf32>
  %result = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%sum : tensor<20x32xf32>) outs(%out : tensor<20x32xf32>) {
  ^bb0(%x: f32, %y: f32):
    %e = math.exp %x : f32
    linalg.yield %e : f32
  } -> tensor<20x32xf32>
  return %result : tensor<20x32xf32>
}

// Operations with instructions become vectors too, a row at a time: copies for all rows are long.

// CHECK-LABEL: func.func @exponentials
// CHECK:       linalg.generic {{.*}} ins(%{{[0-9]+}} : tensor<8x16xf32>)
// CHECK-SAME:    loop.schedule = [{axis = "d0"}, {axis = "d1", vectorize}]
// CHECK:         math.exp
func.func @exponentials(%a: tensor<16x64xf32>, %b: tensor<64x32xf32>) -> tensor<16x32xf32> {
  %c0 = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x32xf32>
  %zero = linalg.fill ins(%c0 : f32) outs(%empty : tensor<16x32xf32>) -> tensor<16x32xf32>
  %sum = linalg.matmul {loop.dims = ["i", "j", "k"], loop.schedule = ["i", "j", "k", "i#8=unroll", "j#16=vectorize"]}
    ins(%a, %b : tensor<16x64xf32>, tensor<64x32xf32>) outs(%zero : tensor<16x32xf32>) -> tensor<16x32xf32>
  %result = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%sum : tensor<16x32xf32>) outs(%empty : tensor<16x32xf32>) {
  ^bb0(%s: f32, %o: f32):
    %e = math.exp %s : f32
    linalg.yield %e : f32
  } -> tensor<16x32xf32>
  return %result : tensor<16x32xf32>
}

// An epilogue that writes rows as columns stays after the sum.

// CHECK-LABEL: func.func @transposed
// CHECK:       scf.for
// CHECK:         arith.mulf
// CHECK:       } {"./i"}
// CHECK-NEXT:  %[[R:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<32x16xf32>)
// CHECK:         arith.negf
// CHECK:       return %[[R]]
func.func @transposed(%a: tensor<16x64xf32>, %b: tensor<64x32xf32>) -> tensor<32x16xf32> {
  %c0 = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x32xf32>
  %turned = tensor.empty() : tensor<32x16xf32>
  %zero = linalg.fill ins(%c0 : f32) outs(%empty : tensor<16x32xf32>) -> tensor<16x32xf32>
  %sum = linalg.matmul {loop.dims = ["i", "j", "k"], loop.schedule = ["i", "j", "k", "i#8=unroll", "j#16=vectorize"]}
    ins(%a, %b : tensor<16x64xf32>, tensor<64x32xf32>) outs(%zero : tensor<16x32xf32>) -> tensor<16x32xf32>
  %result = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%sum : tensor<16x32xf32>) outs(%turned : tensor<32x16xf32>) {
  ^bb0(%s: f32, %o: f32):
    %n = arith.negf %s : f32
    linalg.yield %n : f32
  } -> tensor<32x16xf32>
  return %result : tensor<32x16xf32>
}
