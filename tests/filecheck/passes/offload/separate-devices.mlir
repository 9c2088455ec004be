// RUN: xtc-opt %s --separate-devices | FileCheck %s

// The body of the device function goes to the device's module, with the meshes; a declaration stays
// for the call, and names the graph nodes that the function computes.

// CHECK:      module @npu0 attributes {xtc.device = "npu0"} {
// CHECK-NEXT:   shard.grid @memory_mesh
// CHECK-NEXT:   shard.grid @processor_mesh
// CHECK-NEXT:   func.func @f.npu0.0(%arg0: memref<4xf32, 1>) attributes {xtc.device = "npu0"} {
// CHECK-NEXT:     linalg.exp
// CHECK:      func.func private @f.npu0.0(memref<4xf32, 1>) attributes {xtc.device = "npu0", xtc.nodes = ["Y"]}
// CHECK-NEXT: func.func @f(
// CHECK-NEXT:   call @f.npu0.0(%arg0)
module {
  shard.grid @memory_mesh(shape = 5) {xtc.axes = ["mx"], xtc.device = "npu0"}
  shard.grid @processor_mesh(shape = 5x16) {xtc.axes = ["px", "psx"], xtc.device = "npu0", xtc.memory = @memory_mesh}
  func.func private @f.npu0.0(%x: memref<4xf32, 1>) attributes {xtc.device = "npu0"} {
    linalg.exp {__xtc_id_Y_} ins(%x : memref<4xf32, 1>) outs(%x : memref<4xf32, 1>)
    return
  }
  func.func @f(%a: memref<4xf32, 1> {memref.on_device}) {
    call @f.npu0.0(%a) {xtc.device = "npu0"} : (memref<4xf32, 1>) -> ()
    return
  }
}
