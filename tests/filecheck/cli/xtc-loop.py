# SPDX-License-Identifier: Apache-2.0
# RUN: rm -rf %t && mkdir %t && cp -r %S/Inputs %t && cp %s %t/Inputs/commands.py
# RUN: %python %t/Inputs/commands.py | FileCheck %s --implicit-check-not="exit code"
"""Schedules on operators of an MLIR file: nests, stages, results and times."""

from session import session

session(
    "xtc-loop --help",
    # CHECK: usage: xtc-loop
    # CHECK: Apply the schedules attached to linalg operations in an MLIR file.
    # CHECK: --nest
    # CHECK: --stage
    # CHECK: --run
    # CHECK: --measure
    # CHECK: --function NAME
    # CHECK: --option NAME=VALUE
    # CHECK: --timeout SECONDS
    #
    # Dictionaries keep the order in which they are written.
    "xtc-loop product.mlir --nest",
    # CHECK-LABEL: $ xtc-loop product.mlir --nest
    # CHECK-NEXT: linalg.matmul (i: 30, j: 37, k: 64 reduced)
    # CHECK-NEXT:   for j in 0..37 step 16
    # CHECK-NEXT:     for i in 0..30 step 4
    # CHECK-NEXT:       for k in 0..64
    # CHECK-NEXT:         for i#4 in 0..4  // unroll 4
    # CHECK-NEXT:           for j#16 in 0..16  // vectorize
    # CHECK-NEXT:             linalg.matmul
    "xtc-loop product.mlir --stage source",
    # CHECK-LABEL: $ xtc-loop product.mlir --stage source
    # CHECK: linalg.matmul {{.*}} -> tensor<30x37xf32>
    "xtc-loop product.mlir --stage scheduled",
    # CHECK-LABEL: $ xtc-loop product.mlir --stage scheduled
    # CHECK: scf.for {{.*}} to %c28 step %c4
    # CHECK: vector.transfer_write {{.*}} : vector<16xf32>
    # CHECK: {"./i#4", xtc.unroll = 4 : i64}
    # CHECK: {"./j"}
    # CHECK-NOT: loop.schedule
    "xtc-loop product.mlir --stage bufferized",
    # CHECK-LABEL: $ xtc-loop product.mlir --stage bufferized
    # CHECK-NOT: memref.alloc
    # CHECK: memref.subview %arg2
    "xtc-loop product.mlir --stage code -O triple=aarch64-linux-gnu",
    # CHECK-LABEL: $ xtc-loop product.mlir --stage code
    # CHECK: product:
    # CHECK: fmla v{{[0-9]+}}.4s
    #
    # Results are those without schedules.
    "xtc-loop product.mlir --run --measure --repeat 1 --seed 7",
    # CHECK-LABEL: $ xtc-loop product.mlir --run
    # CHECK-NEXT: check argument2: all 1110 elements agree
    # CHECK-NEXT: measure median {{.*}} GFLOP/s
    #
    # Functions on tensors, each form of a schedule, and all annotations of loops.
    "xtc-loop forms.mlir --nest --run --function chain",
    # CHECK-LABEL: $ xtc-loop forms.mlir
    # CHECK:      linalg.matmul (i: 12, j: 20, k: 8 reduced)
    # CHECK-NEXT:   for i in 0..12 step 4  // parallelize, buffer, pack 1, fuse 0
    # CHECK-NEXT:     for j in 0..20
    # CHECK-NEXT:       for k in 0..8
    # CHECK-NEXT:         for i#4 in 0..4  // unroll 2
    # CHECK:      check argument2: all 240 elements agree
    "xtc-loop forms.mlir --nest --run --function rows",
    # CHECK:      linalg.exp (i: 5, j: 6)
    # CHECK-NEXT:   i[0:2]:
    # CHECK:        i[2:5]:
    # CHECK:      linalg.exp (i: 5, j: 6)
    # CHECK-NEXT:   for j in 0..6  // unroll 3
    # CHECK:      linalg.generic (r: 5, c: 6)
    # CHECK: check argument1: all 30 elements agree
    # CHECK: check argument2: all 30 elements agree
    "xtc-loop forms.mlir --run --function named",
    # CHECK: check argument2: all 64 elements agree
    # CHECK: check argument3: all 16 elements agree
    # CHECK: check argument4: all 16 elements agree
    "xtc-loop product.mlir --nest -o ../nest",
    "cat ../nest",
    # CHECK-LABEL: $ cat ../nest
    # CHECK-NEXT: linalg.matmul (i: 30
    "xtc-loop product.mlir --stage scheduled --dump-dir ../dump --time-passes -o ../scheduled",
    # CHECK: ms  scheduled/apply-schedules
    "ls ../dump",
    # CHECK: {{[0-9]+}}-apply-schedules.mlir
)
