// SPDX-License-Identifier: Apache-2.0
// RUN: xtc-opt %s --place-constants{devices=npu0,npu1} | FileCheck %s

// Each device that reads a constant has it, in its declared shape.

// CHECK-DAG: memref.global "private" constant @w.npu0 : memref<2x2xf32> = {{.*}} {memref.on_device = "npu0", xtc.contents = @w}
// CHECK-DAG: memref.global "private" constant @w.npu1 : memref<2x2xf32> = {{.*}} {memref.on_device = "npu1", xtc.contents = @w}
// CHECK-NOT: @w : memref
memref.global "private" constant @w : memref<2x2xf32> = dense<[[1.0, 2.0], [3.0, 4.0]]>

// The host also has the constants that it reads.

// CHECK-DAG: memref.global "private" constant @v.npu0 : memref<4xf32> = {{.*}} {memref.on_device = "npu0", xtc.contents = @v}
// CHECK-DAG: memref.global "private" constant @v : memref<4xf32> = dense<1.000000e+00>{{$}}
memref.global "private" constant @v : memref<4xf32> = dense<1.0> {memref.on_device = "npu0"}

// A constant that is read where it lives is unchanged.

// CHECK-DAG: memref.global "private" constant @u : memref<4xf32> = dense<1.000000e+00> {memref.on_device = "npu0"}
memref.global "private" constant @u : memref<4xf32> = dense<1.0> {memref.on_device = "npu0"}

func.func private @k0(memref<4xf32>, memref<4xf32>) attributes {xtc.device = "npu0", xtc.results = 1 : i64}
func.func private @k1(memref<2x2xf32>, memref<4xf32>) attributes {xtc.device = "npu1", xtc.results = 1 : i64}

// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[W0:.*]] = memref.get_global @w.npu0
// CHECK-DAG: %[[W1:.*]] = memref.get_global @w.npu1
// CHECK-DAG: %[[V0:.*]] = memref.get_global @v.npu0
// CHECK-DAG: %[[V:.*]] = memref.get_global @v :
// CHECK-DAG: %[[U:.*]] = memref.get_global @u :
// CHECK-DAG: %[[ROW:.*]] = memref.collapse_shape %[[W0]]
// CHECK: call @k0(%[[ROW]], %arg0)
// CHECK: call @k1(%[[W1]], %arg1)
// CHECK: call @k0(%[[V0]], %arg0)
// CHECK: memref.copy %[[V]], %arg1
// CHECK: call @k0(%[[U]], %arg0)
func.func @main(%a: memref<4xf32>, %b: memref<4xf32>) {
  %w = memref.get_global @w : memref<2x2xf32>
  %row = memref.collapse_shape %w [[0, 1]] : memref<2x2xf32> into memref<4xf32>
  %v = memref.get_global @v : memref<4xf32>
  %u = memref.get_global @u : memref<4xf32>
  call @k0(%row, %a) : (memref<4xf32>, memref<4xf32>) -> ()
  call @k1(%w, %b) : (memref<2x2xf32>, memref<4xf32>) -> ()
  call @k0(%v, %a) : (memref<4xf32>, memref<4xf32>) -> ()
  memref.copy %v, %b : memref<4xf32> to memref<4xf32>
  call @k0(%u, %a) : (memref<4xf32>, memref<4xf32>) -> ()
  return
}

// A copy to a result on a device reads the constant of that device.

// CHECK-LABEL: func.func @kept
// CHECK: %[[W1:.*]] = memref.get_global @w.npu1
// CHECK: memref.copy %[[W1]], %arg0
func.func @kept(%a: memref<2x2xf32> {memref.on_device = "npu1"}) {
  %w = memref.get_global @w : memref<2x2xf32>
  memref.copy %w, %a : memref<2x2xf32> to memref<2x2xf32>
  return
}
