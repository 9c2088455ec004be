// RUN: xtc-opt %s --lower-device-commands --split-input-file | FileCheck %s

// Device buffers become addresses, words of 64 bits. The host waits before it reads %h, which a copy
// writes, and at its end, before memory is freed. Numbers stand for names, listed by the module.

// CHECK:      module attributes {xtc.kernel_nodes = {{\[\["Y"\], \[\]\]}}, xtc.kernels = {{\[\[}}"npu0", "f.npu0.0", "address", "address", "address"], ["npu0", "g.npu0.0", "address", "int64", "int32", "float32", "float64"]], xtc.residents = {{\[\[}}"npu0", "f.W", "0"]]}
// CHECK-DAG:  func.func private @xtc_allocate(i64, i64) -> i64
// CHECK-NOT:  memref.global
// CHECK:      func.func @f(%[[A:.*]]: memref<4xf32>, %[[B:.*]]: i64 {memref.on_device})
// CHECK:        %[[ARGUMENTS:.*]] = memref.alloca() : memref<3xi64>
// CHECK:        %[[W:.*]] = call @xtc_resident(
// CHECK:        %[[R:.*]] = call @xtc_allocate(
// CHECK:        call @xtc_copy_to(%{{.*}}, %[[R]],
// CHECK:        memref.store %[[W]], %[[ARGUMENTS]]
// CHECK:        memref.store %[[B]], %[[ARGUMENTS]]
// CHECK:        memref.store %[[R]], %[[ARGUMENTS]]
// CHECK:        call @xtc_launch(
// CHECK:        call @xtc_copy_from(
// CHECK:        call @xtc_wait(
// CHECK-NEXT:   linalg.exp
// CHECK:        call @xtc_free(%{{.*}}, %[[R]])
// CHECK-NEXT:   return

// Numbers are arguments in the low bytes of 64 bits. The grid of a function with `xtc.grid` is computed
// from the integers among the arguments, here %n and %i.
// CHECK:      func.func @g(%[[A:.*]]: i64 {memref.on_device}, %[[N:.*]]: index, %[[I:.*]]: i32, %[[X:.*]]: f32, %[[Y:.*]]: f64)
// CHECK:        memref.store %[[A]], %[[ARGUMENTS:.*]][%{{.*}}] : memref<5xi64>
// CHECK:        %[[WIDE_N:.*]] = arith.index_cast %[[N]] : index to i64
// CHECK:        memref.store %[[WIDE_N]], %[[ARGUMENTS]]
// CHECK:        %[[WIDE_I:.*]] = arith.extui %[[I]] : i32 to i64
// CHECK:        memref.store %[[WIDE_I]], %[[ARGUMENTS]]
// CHECK:        %[[BITS_X:.*]] = arith.bitcast %[[X]] : f32 to i32
// CHECK:        %[[WIDE_X:.*]] = arith.extui %[[BITS_X]] : i32 to i64
// CHECK:        memref.store %[[WIDE_X]], %[[ARGUMENTS]]
// CHECK:        %[[BITS_Y:.*]] = arith.bitcast %[[Y]] : f64 to i64
// CHECK:        memref.store %[[BITS_Y]], %[[ARGUMENTS]]
// CHECK:        %[[INDEX_I:.*]] = arith.index_cast %[[I]] : i32 to index
// CHECK:        %[[BLOCKS:.*]] = affine.apply {{.*}}(%[[N]], %[[INDEX_I]])
// CHECK:        %[[GRID_X:.*]] = arith.index_cast %[[BLOCKS]] : index to i64
// CHECK:        call @xtc_launch(%{{.*}}, %{{.*}}, %[[GRID_X]], %{{.*}}, %{{.*}}) : (i64, i64, i64, i64, i64) -> ()
module {
  memref.global constant @f.W : memref<4xf32, 1> {memref.on_device}
  func.func private @f.npu0.0(memref<4xf32, 1>, memref<4xf32, 1>, memref<4xf32, 1>) attributes {xtc.device = "npu0", xtc.nodes = ["Y"]}
  func.func @f(%a: memref<4xf32>, %b: memref<4xf32, 1> {memref.on_device}) {
    %w = memref.get_global @f.W : memref<4xf32, 1> {xtc.device = "npu0"}
    %h = memref.alloc() : memref<4xf32>
    %r = memref.alloc() {xtc.device = "npu0"} : memref<4xf32, 1>
    memref.copy %a, %r {xtc.device = "npu0"} : memref<4xf32> to memref<4xf32, 1>
    call @f.npu0.0(%w, %b, %r) {xtc.device = "npu0"} : (memref<4xf32, 1>, memref<4xf32, 1>, memref<4xf32, 1>) -> ()
    memref.copy %r, %h {xtc.device = "npu0"} : memref<4xf32, 1> to memref<4xf32>
    linalg.exp ins(%h : memref<4xf32>) outs(%a : memref<4xf32>)
    memref.dealloc %r {xtc.device = "npu0"} : memref<4xf32, 1>
    return
  }
  module @npu0 attributes {xtc.device = "npu0"} {
    func.func @g.npu0.0(%a: memref<4xf32, 1>, %n: index, %i: i32, %x: f32, %y: f64)
        attributes {xtc.grid = affine_map<(n, i) -> (n ceildiv 256, 1, 1)>} {
      return
    }
  }
  func.func private @g.npu0.0(memref<4xf32, 1>, index, i32, f32, f64) attributes {xtc.device = "npu0"}
  func.func @g(%a: memref<4xf32, 1> {memref.on_device}, %n: index, %i: i32, %x: f32, %y: f64) {
    call @g.npu0.0(%a, %n, %i, %x, %y) {xtc.device = "npu0"} : (memref<4xf32, 1>, index, i32, f32, f64) -> ()
    return
  }
}

// -----

// A kernel has a number for each list of graph nodes that it is launched for. What is never launched
// has none.

// CHECK:      module attributes {xtc.kernel_nodes = {{\[\["y0"\], \["y1", "y2"\]\]}}, xtc.kernels = {{\[\[}}"npu0", "k.npu0.0", "address"], ["npu0", "k.npu0.0", "address"]], xtc.residents = []}
// CHECK:      func.func @k(
// CHECK:        %[[FIRST:.*]] = arith.constant 0 : i64
// CHECK:        call @xtc_launch(%[[FIRST]],
// CHECK:        %[[SECOND:.*]] = arith.constant 1 : i64
// CHECK:        call @xtc_launch(%[[SECOND]],
// CHECK:        %[[THIRD:.*]] = arith.constant 0 : i64
// CHECK:        call @xtc_launch(%[[THIRD]],
module {
  func.func private @k.npu0.0(memref<4xf32, 1>) attributes {xtc.device = "npu0", xtc.nodes = ["y0"]}
  func.func private @k.npu0.1(memref<4xf32, 1>) attributes {xtc.device = "npu0", xtc.nodes = ["z"]}
  func.func @k(%a: memref<4xf32, 1> {memref.on_device}) {
    call @k.npu0.0(%a) {xtc.device = "npu0"} : (memref<4xf32, 1>) -> ()
    call @k.npu0.0(%a) {xtc.device = "npu0", xtc.nodes = ["y1", "y2"]} : (memref<4xf32, 1>) -> ()
    call @k.npu0.0(%a) {xtc.device = "npu0"} : (memref<4xf32, 1>) -> ()
    return
  }
}
