// SPDX-License-Identifier: Apache-2.0
func.func private @f()
// -----
func.func @g() {
  no.such_op
}
