// RUN: xtc-opt %s --share-kernels --split-input-file | FileCheck %s

// @f.npu0.2 computes for Z what @f.npu0.0 computes for Y, and is erased. Functions of different
// devices are not shared.

// CHECK:       module @npu0
// CHECK-NEXT:    func.func @f.npu0.0(
// CHECK-NEXT:      linalg.exp {__xtc_id_Y_}
// CHECK:         func.func @f.npu0.1(
// CHECK-NEXT:      linalg.abs
// CHECK-NOT:     func.func @f.npu0.2
// CHECK:       module @npu1
// CHECK-NEXT:    func.func @f.npu1.0(
// CHECK-NEXT:      linalg.exp {__xtc_id_V_}
// CHECK:       func.func private @f.npu0.0(memref<4xf32, 1>) attributes {xtc.device = "npu0", xtc.nodes = ["Y"]}
// CHECK-NEXT:  func.func private @f.npu0.1(
// CHECK-NEXT:  func.func private @f.npu1.0(
// CHECK-NEXT:  func.func @f(
// CHECK-NEXT:    call @f.npu0.0(%arg0) {xtc.device = "npu0"} :
// CHECK-NEXT:    call @f.npu0.1(%arg0) {xtc.device = "npu0"} :
// CHECK-NEXT:    call @f.npu0.0(%arg0) {xtc.device = "npu0", xtc.nodes = ["Z"]} :
// CHECK-NEXT:    call @f.npu1.0(%arg1) {xtc.device = "npu1"} :
module {
  module @npu0 attributes {xtc.device = "npu0"} {
    func.func @f.npu0.0(%x: memref<4xf32, 1>) attributes {xtc.device = "npu0"} {
      linalg.exp {__xtc_id_Y_} ins(%x : memref<4xf32, 1>) outs(%x : memref<4xf32, 1>)
      return
    }
    func.func @f.npu0.1(%x: memref<4xf32, 1>) attributes {xtc.device = "npu0"} {
      linalg.abs {__xtc_id_A_} ins(%x : memref<4xf32, 1>) outs(%x : memref<4xf32, 1>)
      return
    }
    func.func @f.npu0.2(%x: memref<4xf32, 1>) attributes {xtc.device = "npu0"} {
      linalg.exp {__xtc_id_Z_} ins(%x : memref<4xf32, 1>) outs(%x : memref<4xf32, 1>)
      return
    }
  }
  module @npu1 attributes {xtc.device = "npu1"} {
    func.func @f.npu1.0(%x: memref<4xf32, 1>) attributes {xtc.device = "npu1"} {
      linalg.exp {__xtc_id_V_} ins(%x : memref<4xf32, 1>) outs(%x : memref<4xf32, 1>)
      return
    }
  }
  func.func private @f.npu0.0(memref<4xf32, 1>) attributes {xtc.device = "npu0", xtc.nodes = ["Y"]}
  func.func private @f.npu0.1(memref<4xf32, 1>) attributes {xtc.device = "npu0", xtc.nodes = ["A"]}
  func.func private @f.npu0.2(memref<4xf32, 1>) attributes {xtc.device = "npu0", xtc.nodes = ["Z"]}
  func.func private @f.npu1.0(memref<4xf32, 1>) attributes {xtc.device = "npu1", xtc.nodes = ["V"]}
  func.func @f(%a: memref<4xf32, 1>, %b: memref<4xf32, 1>) {
    call @f.npu0.0(%a) {xtc.device = "npu0"} : (memref<4xf32, 1>) -> ()
    call @f.npu0.1(%a) {xtc.device = "npu0"} : (memref<4xf32, 1>) -> ()
    call @f.npu0.2(%a) {xtc.device = "npu0"} : (memref<4xf32, 1>) -> ()
    call @f.npu1.0(%b) {xtc.device = "npu1"} : (memref<4xf32, 1>) -> ()
    return
  }
}

// -----

// Nodes do not count, however many an operation belongs to. Functions that differ in a number, a
// type or an attribute stay.

// CHECK-LABEL: // -----
// CHECK:       module @npu0
// CHECK-NEXT:    func.func @g.npu0.0(
// CHECK:         func.func @g.npu0.2(
// CHECK:         func.func @g.npu0.3(
// CHECK:         func.func @g.npu0.4(
// CHECK:       func.func @g(
// CHECK-NEXT:    call @g.npu0.0(%arg0) {xtc.device = "npu0"}
// CHECK-NEXT:    call @g.npu0.0(%arg0) {xtc.device = "npu0", xtc.nodes = ["S", "T"]}
// CHECK-NEXT:    call @g.npu0.2(
// CHECK-NEXT:    call @g.npu0.3(
// CHECK-NEXT:    call @g.npu0.4(
module {
  module @npu0 attributes {xtc.device = "npu0"} {
    func.func @g.npu0.0(%x: memref<4xf32, 1>) attributes {xtc.device = "npu0"} {
      %c = arith.constant 1.0 : f32
      linalg.fill {__xtc_id_R_, loop.dims = ["i"]} ins(%c : f32) outs(%x : memref<4xf32, 1>)
      return
    }
    func.func @g.npu0.1(%x: memref<4xf32, 1>) attributes {xtc.device = "npu0"} {
      %c = arith.constant 1.0 : f32
      linalg.fill {__xtc_id_S.init_, __xtc_id_T_, loop.dims = ["i"]} ins(%c : f32) outs(%x : memref<4xf32, 1>)
      return
    }
    func.func @g.npu0.2(%x: memref<4xf32, 1>) attributes {xtc.device = "npu0"} {
      %c = arith.constant 2.0 : f32
      linalg.fill {__xtc_id_U_, loop.dims = ["i"]} ins(%c : f32) outs(%x : memref<4xf32, 1>)
      return
    }
    func.func @g.npu0.3(%x: memref<5xf32, 1>) attributes {xtc.device = "npu0"} {
      %c = arith.constant 1.0 : f32
      linalg.fill {__xtc_id_V_, loop.dims = ["i"]} ins(%c : f32) outs(%x : memref<5xf32, 1>)
      return
    }
    func.func @g.npu0.4(%x: memref<4xf32, 1>) attributes {xtc.device = "npu0"} {
      %c = arith.constant 1.0 : f32
      linalg.fill {__xtc_id_W_, loop.dims = ["j"]} ins(%c : f32) outs(%x : memref<4xf32, 1>)
      return
    }
  }
  func.func private @g.npu0.0(memref<4xf32, 1>) attributes {xtc.device = "npu0", xtc.nodes = ["R"]}
  func.func private @g.npu0.1(memref<4xf32, 1>) attributes {xtc.device = "npu0", xtc.nodes = ["S", "T"]}
  func.func private @g.npu0.2(memref<4xf32, 1>) attributes {xtc.device = "npu0", xtc.nodes = ["U"]}
  func.func private @g.npu0.3(memref<5xf32, 1>) attributes {xtc.device = "npu0", xtc.nodes = ["V"]}
  func.func private @g.npu0.4(memref<4xf32, 1>) attributes {xtc.device = "npu0", xtc.nodes = ["W"]}
  func.func @g(%a: memref<4xf32, 1>, %b: memref<5xf32, 1>) {
    call @g.npu0.0(%a) {xtc.device = "npu0"} : (memref<4xf32, 1>) -> ()
    call @g.npu0.1(%a) {xtc.device = "npu0"} : (memref<4xf32, 1>) -> ()
    call @g.npu0.2(%a) {xtc.device = "npu0"} : (memref<4xf32, 1>) -> ()
    call @g.npu0.3(%b) {xtc.device = "npu0"} : (memref<5xf32, 1>) -> ()
    call @g.npu0.4(%a) {xtc.device = "npu0"} : (memref<4xf32, 1>) -> ()
    return
  }
}
