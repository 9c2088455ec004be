// SPDX-License-Identifier: Apache-2.0
func.func @f() {
  %0 = arith.constant 1 : i32
  return
}
func.func @g() {
  return
}
