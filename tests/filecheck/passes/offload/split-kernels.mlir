// RUN: xtc-opt %s --split-kernels{devices=npu0} --split-input-file | FileCheck %s

// Two loop nests become two kernels, with the temporary between them on the host side. The view and
// the constant of the second one move with it. Operations on another device are unchanged.

module {
  // CHECK: func.func private @f.npu1.0
  // CHECK:     func.func private @f.npu0.0(%[[A:.*]]: memref<4xf32>, %[[T:.*]]: memref<4xf32>)
  // CHECK-NEXT:  linalg.exp ins(%[[A]] : memref<4xf32>) outs(%[[T]] : memref<4xf32>)
  // CHECK-NEXT:  return
  // CHECK:     func.func private @f.npu0.1(%[[T:.*]]: memref<4xf32>, %[[R:.*]]: memref<4xf32>) attributes {xtc.device = "npu0", xtc.results = 1 : i64}
  // CHECK:       %[[V:.*]] = memref.expand_shape %[[T]]
  // CHECK:       scf.forall
  // CHECK:         memref.load %[[V]]
  // CHECK:         %[[PART:.*]] = memref.subview %[[R]]
  // CHECK:         memref.store %{{.*}}, %[[PART]]
  func.func private @f.npu0.0(%a: memref<4xf32>, %r: memref<4xf32>)
      attributes {xtc.device = "npu0", xtc.results = 1 : i64} {
    %c0 = arith.constant 0 : index
    %t = memref.alloc() : memref<4xf32>
    %v = memref.expand_shape %t [[0, 1]] output_shape [4, 1] : memref<4xf32> into memref<4x1xf32>
    linalg.exp ins(%a : memref<4xf32>) outs(%t : memref<4xf32>)
    scf.forall (%i) in (4) {
      %x = memref.load %v[%i, %c0] : memref<4x1xf32>
      %part = memref.subview %r[%i] [1] [1] : memref<4xf32> to memref<1xf32, strided<[1], offset: ?>>
      memref.store %x, %part[%c0] : memref<1xf32, strided<[1], offset: ?>>
    } {mapping = [#gpu.block<linear_dim_0>]}
    return
  }

  func.func private @f.npu1.0(%a: memref<4xf32>, %r: memref<4xf32>)
      attributes {xtc.device = "npu1", xtc.results = 1 : i64} {
    linalg.exp ins(%a : memref<4xf32>) outs(%r : memref<4xf32>)
    return
  }

  // CHECK: func.func @f(%[[A:.*]]: memref<4xf32>, %[[R:.*]]: memref<4xf32>, %[[S:.*]]: memref<4xf32>)
  // CHECK-NEXT: %[[T:.*]] = memref.alloc()
  // CHECK-NEXT: call @f.npu0.0(%[[A]], %[[T]])
  // CHECK-NEXT: call @f.npu0.1(%[[T]], %[[R]])
  // CHECK-NEXT: call @f.npu1.0(%[[R]], %[[S]])
  func.func @f(%a: memref<4xf32>, %r: memref<4xf32>, %s: memref<4xf32>) {
    call @f.npu0.0(%a, %r) : (memref<4xf32>, memref<4xf32>) -> ()
    call @f.npu1.0(%r, %s) : (memref<4xf32>, memref<4xf32>) -> ()
    return
  }
}

// -----

// Vectors that are computed outside of loops are in one kernel with their users, and with the
// operations in between.

module {
  // CHECK:      func.func private @g.npu0.0(%[[A:.*]]: memref<4xf32>, %[[R:.*]]: memref<4xf32>)
  // CHECK:        %[[X:.*]] = vector.load %[[A]]
  // CHECK:        linalg.exp ins(%[[R]] : memref<4xf32>) outs(%[[A]] : memref<4xf32>)
  // CHECK:        %[[Y:.*]] = arith.addf %[[X]], %[[X]]
  // CHECK:        vector.store %[[Y]], %[[R]]
  // CHECK:        return
  // CHECK:      func.func private @g.npu0.1(%[[R:.*]]: memref<4xf32>, %[[A:.*]]: memref<4xf32>)
  // CHECK:        linalg.exp
  func.func private @g.npu0.0(%a: memref<4xf32>, %r: memref<4xf32>)
      attributes {xtc.device = "npu0", xtc.results = 1 : i64} {
    %c0 = arith.constant 0 : index
    %x = vector.load %a[%c0] : memref<4xf32>, vector<4xf32>
    linalg.exp ins(%r : memref<4xf32>) outs(%a : memref<4xf32>)
    %y = arith.addf %x, %x : vector<4xf32>
    vector.store %y, %r[%c0] : memref<4xf32>, vector<4xf32>
    linalg.exp ins(%r : memref<4xf32>) outs(%a : memref<4xf32>)
    return
  }

  // CHECK:      func.func @g(%[[A:.*]]: memref<4xf32>, %[[R:.*]]: memref<4xf32>)
  // CHECK-NEXT:   call @g.npu0.0(%[[A]], %[[R]])
  // CHECK-NEXT:   call @g.npu0.1(%[[R]], %[[A]])
  // CHECK-NEXT:   return
  func.func @g(%a: memref<4xf32>, %r: memref<4xf32>) {
    call @g.npu0.0(%a, %r) : (memref<4xf32>, memref<4xf32>) -> ()
    return
  }
}

// -----

// Operations that are marked as one kernel, with their private buffer. Each kernel's marks begin at 0.

module {
  // CHECK:      func.func private @h.npu0.0(%[[A:.*]]: memref<4xf32>, %[[R:.*]]: memref<4xf32>)
  // CHECK-SAME:   xtc.results = 1
  // CHECK:        %[[T:.*]] = memref.alloc()
  // CHECK:        linalg.exp {xtc.kernel = 0 : i64} ins(%[[A]] : memref<4xf32>) outs(%[[T]] : memref<4xf32>)
  // CHECK:        linalg.exp {xtc.kernel = 0 : i64} ins(%[[T]] : memref<4xf32>) outs(%[[R]] : memref<4xf32>)
  // CHECK:      func.func private @h.npu0.1(
  // CHECK:        linalg.exp {xtc.kernel = 0 : i64}
  // CHECK:      func.func private @h.npu0.2(
  // CHECK:        linalg.exp ins
  func.func private @h.npu0.0(%a: memref<4xf32>, %r: memref<4xf32>)
      attributes {xtc.device = "npu0", xtc.results = 1 : i64} {
    %t = memref.alloc() : memref<4xf32>
    linalg.exp {xtc.kernel = 0 : i64} ins(%a : memref<4xf32>) outs(%t : memref<4xf32>)
    linalg.exp {xtc.kernel = 0 : i64} ins(%t : memref<4xf32>) outs(%r : memref<4xf32>)
    linalg.exp {xtc.kernel = 1 : i64} ins(%r : memref<4xf32>) outs(%a : memref<4xf32>)
    linalg.exp ins(%a : memref<4xf32>) outs(%r : memref<4xf32>)
    return
  }

  // CHECK:      func.func @h(%[[A:.*]]: memref<4xf32>, %[[R:.*]]: memref<4xf32>)
  // CHECK-NEXT:   call @h.npu0.0(%[[A]], %[[R]])
  // CHECK-NEXT:   call @h.npu0.1(%[[R]], %[[A]])
  // CHECK-NEXT:   call @h.npu0.2(%[[A]], %[[R]])
  // CHECK-NEXT:   return
  func.func @h(%a: memref<4xf32>, %r: memref<4xf32>) {
    call @h.npu0.0(%a, %r) : (memref<4xf32>, memref<4xf32>) -> ()
    return
  }
}

// -----

// The same for a buffer that the kernel also uses through a view.

module {
  // CHECK:      func.func private @viewed.npu0.0(%[[A:.*]]: memref<4xf32>, %[[R:.*]]: memref<4x1xf32>)
  // CHECK-SAME:   xtc.results = 1
  // CHECK:        %[[T:.*]] = memref.alloc()
  // CHECK:        %[[V:.*]] = memref.expand_shape %[[T]]
  // CHECK:        linalg.exp {xtc.kernel = 0 : i64} ins(%[[A]] : memref<4xf32>) outs(%[[T]] : memref<4xf32>)
  // CHECK:        linalg.exp {xtc.kernel = 0 : i64} ins(%[[V]] : memref<4x1xf32>) outs(%[[R]] : memref<4x1xf32>)
  func.func private @viewed.npu0.0(%a: memref<4xf32>, %r: memref<4x1xf32>)
      attributes {xtc.device = "npu0", xtc.results = 1 : i64} {
    %t = memref.alloc() : memref<4xf32>
    linalg.exp {xtc.kernel = 0 : i64} ins(%a : memref<4xf32>) outs(%t : memref<4xf32>)
    %v = memref.expand_shape %t [[0, 1]] output_shape [4, 1] : memref<4xf32> into memref<4x1xf32>
    linalg.exp {xtc.kernel = 0 : i64} ins(%v : memref<4x1xf32>) outs(%r : memref<4x1xf32>)
    return
  }
  func.func @viewed(%a: memref<4xf32>, %r: memref<4x1xf32>) {
    call @viewed.npu0.0(%a, %r) : (memref<4xf32>, memref<4x1xf32>) -> ()
    return
  }
}

// -----

// A copy that bufferization has put between the operations of a kernel comes before them. Where it
// writes what they read, they lose the mark and become a kernel each.

module {
  // CHECK-LABEL: func.func private @gathered.npu0.0
  // CHECK:         memref.copy
  // CHECK-LABEL: func.func private @gathered.npu0.1
  // CHECK:         linalg.exp {xtc.kernel = 0 : i64}
  // CHECK:         linalg.exp {xtc.kernel = 0 : i64}
  // CHECK-NOT:   func.func private @gathered.npu0.2
  func.func private @gathered.npu0.0(%a: memref<4xf32>, %b: memref<4xf32>, %r: memref<8xf32>) attributes {xtc.device = "npu0"} {
    %t = memref.alloc() : memref<4xf32>
    linalg.exp {xtc.kernel = 0 : i64} ins(%a : memref<4xf32>) outs(%t : memref<4xf32>)
    %left = memref.subview %r[0] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1]>>
    memref.copy %b, %left : memref<4xf32> to memref<4xf32, strided<[1]>>
    %right = memref.subview %r[4] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: 4>>
    linalg.exp {xtc.kernel = 0 : i64} ins(%t : memref<4xf32>) outs(%right : memref<4xf32, strided<[1], offset: 4>>)
    return
  }
  func.func @gathered(%a: memref<4xf32>, %b: memref<4xf32>, %r: memref<8xf32>) {
    call @gathered.npu0.0(%a, %b, %r) : (memref<4xf32>, memref<4xf32>, memref<8xf32>) -> ()
    return
  }

  // CHECK-LABEL: func.func private @apart.npu0.0
  // CHECK:         linalg.exp ins
  // CHECK-LABEL: func.func private @apart.npu0.1
  // CHECK:         memref.copy
  // CHECK-LABEL: func.func private @apart.npu0.2
  // CHECK:         linalg.exp ins
  func.func private @apart.npu0.0(%a: memref<4xf32>, %b: memref<4xf32>, %r: memref<4xf32>) attributes {xtc.device = "npu0"} {
    %t = memref.alloc() : memref<4xf32>
    linalg.exp {xtc.kernel = 0 : i64} ins(%a : memref<4xf32>) outs(%t : memref<4xf32>)
    memref.copy %b, %a : memref<4xf32> to memref<4xf32>
    linalg.exp {xtc.kernel = 0 : i64} ins(%t : memref<4xf32>) outs(%r : memref<4xf32>)
    return
  }
  func.func @apart(%a: memref<4xf32>, %b: memref<4xf32>, %r: memref<4xf32>) {
    call @apart.npu0.0(%a, %b, %r) : (memref<4xf32>, memref<4xf32>, memref<4xf32>) -> ()
    return
  }
}
