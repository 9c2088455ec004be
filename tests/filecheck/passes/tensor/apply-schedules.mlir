// RUN: xtc-opt %s --apply-schedules --canonicalize --cse | FileCheck %s

// Three loops over 8 x 32 x 16, the columns in vectors of 16: loops carry their path, and the innermost
// body is vector arithmetic.

// CHECK-LABEL: func.func @matmul
// CHECK: scf.for %{{.*}} = %{{.*}} to %c8 step %c1
// CHECK:   scf.for %{{.*}} = %{{.*}} to %c32 step %c16
// CHECK:     scf.for %{{.*}} = %{{.*}} to %c16 step %c1
// CHECK:       vector.transfer_read {{.*}} vector<16xf32>
// CHECK:       arith.mulf {{.*}} : vector<16xf32>
// CHECK:       arith.addf {{.*}} : vector<16xf32>
// CHECK:       vector.transfer_write
// CHECK:     } {"./k"}
// CHECK:   } {"./j"}
// CHECK: } {"./i"}
// CHECK-NOT: loop.schedule
func.func @matmul(%a: tensor<8x16xf32>, %b: tensor<16x32xf32>, %c: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %0 = linalg.matmul {loop.dims = ["i", "j", "k"], loop.schedule = "{i: {}, j: {}, k: {}, j#16: vectorize}"}
    ins(%a, %b : tensor<8x16xf32>, tensor<16x32xf32>) outs(%c : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}
