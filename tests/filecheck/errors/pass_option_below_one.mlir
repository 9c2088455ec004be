// SPDX-License-Identifier: Apache-2.0
// RUN: not xtc-opt %s --unroll-reductions{factor=0} 2>&1 | FileCheck %s
// CHECK: xtc-opt: error: option 'factor' of pass 'unroll-reductions' is 0
// CHECK-NEXT: note: it must be 1 or more
func.func @nothing() {
  return
}
