// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --check-accesses | FileCheck %s

// CHECK:       llvm.func @cuda_read(!llvm.ptr, i32)
// CHECK:       llvm.func @cuda_write(!llvm.ptr, i32)

// CHECK-LABEL: llvm.func @scalars
// CHECK:       %[[FROM:.*]] = llvm.addrspacecast %arg0
// CHECK-NEXT:  %[[SIZE:.*]] = llvm.mlir.constant(4 : i32)
// CHECK-NEXT:  llvm.call @cuda_read(%[[FROM]], %[[SIZE]])
// CHECK-NEXT:  llvm.load %arg0
// CHECK:       %[[TO:.*]] = llvm.addrspacecast %arg1
// CHECK:       llvm.call @cuda_write(%[[TO]], %{{.*}})
// CHECK-NEXT:  llvm.store %{{.*}}, %arg1
llvm.func @scalars(%a: !llvm.ptr<1>, %b: !llvm.ptr<3>) {
  %x = llvm.load %a : !llvm.ptr<1> -> f32
  llvm.store %x, %b : f32, !llvm.ptr<3>
  llvm.return
}

// A vector of 32 bytes is reported as two accesses of 16, or as more if its alignment requires it.
// CHECK-LABEL: llvm.func @vectors
// CHECK:       %[[FROM:.*]] = llvm.addrspacecast %arg0
// CHECK-NEXT:  %[[SIZE:.*]] = llvm.mlir.constant(16 : i32)
// CHECK-NEXT:  llvm.call @cuda_read(%[[FROM]], %[[SIZE]])
// CHECK-NEXT:  %[[NEXT:.*]] = llvm.getelementptr %[[FROM]][16]
// CHECK-NEXT:  llvm.call @cuda_read(%[[NEXT]], %[[SIZE]])
// CHECK-NEXT:  llvm.load
// CHECK-COUNT-2: llvm.call @cuda_write
// CHECK-NOT:   llvm.call
// CHECK:       llvm.store
llvm.func @vectors(%a: !llvm.ptr<1>) {
  %x = llvm.load %a : !llvm.ptr<1> -> vector<8xf32>
  %y = llvm.mlir.constant(dense<0.0> : vector<4xf16>) : vector<4xf16>
  llvm.store %y, %a {alignment = 4 : i64} : vector<4xf16>, !llvm.ptr<1>
  llvm.return
}

// Ordering accesses are reported as such: a store replaces earlier releases, a combination does not.
// CHECK-LABEL: llvm.func @ordered
// CHECK:       %[[WORD:.*]] = llvm.addrspacecast %arg0
// CHECK:       llvm.call @cuda_atomic(%[[WORD]], %{{.*}})
// CHECK-NEXT:  llvm.call @cuda_acquire(%[[WORD]])
// CHECK-NEXT:  llvm.load
// CHECK:       llvm.call @cuda_atomic
// CHECK-NEXT:  %[[ONE:.*]] = llvm.mlir.constant(1 : i32)
// CHECK-NEXT:  llvm.call @cuda_release(%{{.*}}, %[[ONE]])
// CHECK-NEXT:  llvm.store
// CHECK:       llvm.call @cuda_atomic
// CHECK-NEXT:  llvm.call @cuda_acquire
// CHECK-NEXT:  %[[ZERO:.*]] = llvm.mlir.constant(0 : i32)
// CHECK-NEXT:  llvm.call @cuda_release(%{{.*}}, %[[ZERO]])
// CHECK-NEXT:  llvm.cmpxchg
llvm.func @ordered(%a: !llvm.ptr<1>) {
  %x = llvm.load %a atomic syncscope("device") acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  llvm.store %x, %a atomic syncscope("device") release {alignment = 4 : i64} : i32, !llvm.ptr<1>
  %y = llvm.cmpxchg %a, %x, %x acq_rel acquire : !llvm.ptr<1>, i32
  llvm.return
}

// A thread's private memory is not reported.
// CHECK-LABEL: llvm.func @own
// CHECK-NOT:   llvm.call
// CHECK:       llvm.load
llvm.func @own(%a: !llvm.ptr) {
  %x = llvm.load %a : !llvm.ptr -> f32
  llvm.return
}

// The simulator checks these accesses in its own calls.
// CHECK-LABEL: llvm.func @together
// CHECK-NOT:   llvm.call
// CHECK:       llvm.return
llvm.func @together(%a: !llvm.ptr<1>, %b: !llvm.ptr<3>) {
  nvvm.cp.async.shared.global %b, %a, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
  %x = nvvm.ldmatrix %b {num = 4 : i32, layout = #nvvm.mma_layout<row>,
    shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>}
    : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
  llvm.return
}

// A branch that passes an address accesses nothing; the user of the address does.
// CHECK-LABEL: llvm.func @handed_on
// CHECK:       llvm.cond_br
// CHECK:       ^bb1(%[[HELD:.*]]: !llvm.ptr<1>):
// CHECK:       llvm.addrspacecast %[[HELD]]
// CHECK:       llvm.call @cuda_read
// CHECK-NEXT:  llvm.load %[[HELD]]
llvm.func @handed_on(%c: i1, %a: !llvm.ptr<1>, %b: !llvm.ptr<1>) {
  llvm.cond_br %c, ^bb1(%a : !llvm.ptr<1>), ^bb1(%b : !llvm.ptr<1>)
^bb1(%p: !llvm.ptr<1>):
  %x = llvm.load %p : !llvm.ptr<1> -> f32
  llvm.return
}
