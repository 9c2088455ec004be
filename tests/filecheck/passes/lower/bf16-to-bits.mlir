// RUN: xtc-opt %s --bf16-to-bits | FileCheck %s

// Data movement of bfloat16 becomes data movement of 16-bit integers.

// CHECK-LABEL: func.func @copy(%{{.*}}: memref<8xi16>, %{{.*}}: memref<8xi16>, %{{.*}}: index)
// CHECK: memref.load {{.*}} : memref<8xi16>
// CHECK: memref.store {{.*}} : memref<8xi16>
// CHECK-NOT: bf16
func.func @copy(%a: memref<8xbf16>, %b: memref<8xbf16>, %i: index) {
  %x = memref.load %a[%i] : memref<8xbf16>
  memref.store %x, %b[%i] : memref<8xbf16>
  return
}

// The initial value of a global keeps its bits.

// CHECK: memref.global "private" constant @scalar : memref<i16> = dense<16256>
// CHECK: memref.global "private" constant @row : memref<4xi16> = dense<[16256, -16512, 32704, 14723]>
memref.global "private" constant @scalar : memref<bf16> = dense<1.0>
memref.global "private" constant @row : memref<4xbf16> = dense<[1.0, -1.0, 0x7FC0, 2.49863e-4]>
