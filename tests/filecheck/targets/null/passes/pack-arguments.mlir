// RUN: xtc-opt %s --pack-arguments | FileCheck %s

// CHECK:      llvm.func internal @f.npu0.0(%{{.*}}: !llvm.ptr, %{{.*}}: i64)
// CHECK:      llvm.func @f_npu0_0(%[[WORDS:.*]]: !llvm.ptr)
// CHECK:        %[[A:.*]] = llvm.load %{{.*}} : !llvm.ptr -> !llvm.ptr
// CHECK:        %[[AT:.*]] = llvm.getelementptr %[[WORDS]][1]
// CHECK-NEXT:   %[[N:.*]] = llvm.load %[[AT]] : !llvm.ptr -> i64
// CHECK-NEXT:   llvm.call @f.npu0.0(%[[A]], %[[N]])
llvm.func @f.npu0.0(%a: !llvm.ptr, %n: i64) {
  llvm.return
}
