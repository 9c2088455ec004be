// RUN: xtc-opt %s --bf16-to-bits | FileCheck %s

// What moves bfloat16 about moves 16 bits about.

// CHECK-LABEL: func.func @copy(%{{.*}}: memref<8xi16>, %{{.*}}: memref<8xi16>, %{{.*}}: index)
// CHECK: memref.load {{.*}} : memref<8xi16>
// CHECK: memref.store {{.*}} : memref<8xi16>
// CHECK-NOT: bf16
func.func @copy(%a: memref<8xbf16>, %b: memref<8xbf16>, %i: index) {
  %x = memref.load %a[%i] : memref<8xbf16>
  memref.store %x, %b[%i] : memref<8xbf16>
  return
}
