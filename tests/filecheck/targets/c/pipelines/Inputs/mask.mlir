// SPDX-License-Identifier: Apache-2.0
func.func @f(%a: memref<8xf32>, %i: index) {
  %p = arith.constant 0.0 : f32
  %v = vector.transfer_read %a[%i], %p : memref<8xf32>, vector<8xf32>
  vector.transfer_write %v, %a[%i] {in_bounds = [true]} : vector<8xf32>, memref<8xf32>
  return
}
