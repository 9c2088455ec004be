// RUN: xtc-opt %s --lower-device-commands | FileCheck %s

// Device buffers become addresses, words of 64 bits. The host waits before it reads %h, which a copy
// writes, and at its end, before memory is freed. Numbers stand for names, listed by the module.

// CHECK:      module attributes {xtc.kernels = {{\[\[}}"npu0", "f.npu0.0"]], xtc.residents = {{\[\[}}"npu0", "f.W"]]}
// CHECK-DAG:  func.func private @xtc_allocate(i64, i64) -> i64
// CHECK-NOT:  memref.global
// CHECK:      func.func @f(%[[A:.*]]: memref<4xf32>, %[[B:.*]]: i64 {memref.on_device})
// CHECK:        %[[WORDS:.*]] = memref.alloca() : memref<3xi64>
// CHECK:        %[[W:.*]] = call @xtc_resident(
// CHECK:        %[[R:.*]] = call @xtc_allocate(
// CHECK:        call @xtc_copy_to(%{{.*}}, %[[R]],
// CHECK:        memref.store %[[W]], %[[WORDS]]
// CHECK:        memref.store %[[B]], %[[WORDS]]
// CHECK:        memref.store %[[R]], %[[WORDS]]
// CHECK:        call @xtc_launch(
// CHECK:        call @xtc_copy_from(
// CHECK:        call @xtc_wait(
// CHECK-NEXT:   linalg.exp
// CHECK:        call @xtc_free(%{{.*}}, %[[R]])
// CHECK-NEXT:   return
module {
  memref.global constant @f.W : memref<4xf32, 1> {memref.on_device}
  func.func private @f.npu0.0(memref<4xf32, 1>, memref<4xf32, 1>, memref<4xf32, 1>) attributes {xtc.device = "npu0"}
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
}
