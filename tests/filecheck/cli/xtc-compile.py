# SPDX-License-Identifier: Apache-2.0
# RUN: rm -rf %t && mkdir %t && cp -r %S/Inputs %t && cp %s %t/Inputs/commands.py
# RUN: %python %t/Inputs/commands.py | FileCheck %s --implicit-check-not="exit code"
"""Every option, on a graph for the host and for a target without hardware."""

from session import session

session(
    "xtc-compile --help",
    # CHECK: usage: xtc-compile
    # CHECK: Compile a graph: print the IR of a stage, or build an artifact.
    # CHECK: --target TARGET
    # CHECK-SAME: (default: host)
    # CHECK: --dim NAME=SIZE
    # CHECK: --option NAME=VALUE
    # CHECK: --print-ir-after-all
    # CHECK: --dump-dir DUMP_DIR
    # CHECK: --time-passes
    # CHECK: --stage {source,scheduled,bufferized,offloaded,lowered,code}
    # CHECK: --output OUTPUT
    "xtc-compile product.py --stage source",
    # CHECK-LABEL: $ xtc-compile product.py --stage source
    # CHECK-NEXT: module {
    # CHECK-NEXT:   func.func @product(
    # CHECK:          linalg.matmul
    "xtc-compile product.py --stage lowered",
    # CHECK: llvm.func @product(
    "xtc-compile product.py --target null --stage lowered",
    # CHECK-LABEL: $ xtc-compile product.py --target null
    # CHECK: module @null0
    # CHECK: llvm.func @product_null0_0(
    # CHECK: llvm.func @product(
    "xtc-compile symbolic.py --dim N=5 --stage source",
    # CHECK: func.func @positive(%arg0: memref<5x3xf32>
    # A schedule: its loops carry their names.
    "xtc-compile product.py --stage bufferized --schedule 'C: {k: {}, i: {}, j: {}}'",
    # CHECK-LABEL: $ xtc-compile product.py --stage bufferized --schedule
    # CHECK: "./i"
    # CHECK: "./k"
    #
    # The loops as text, before anything is compiled; those of operators without a schedule as well.
    "xtc-compile product.py --nest --schedule 'C: [k, i, j, i#3=unroll]'",
    # CHECK-LABEL: $ xtc-compile product.py --nest
    # CHECK-NEXT: C (i: 4, j: 8, k: 16 reduced)
    # CHECK-NEXT:   for k in 0..16
    # CHECK-NEXT:     for i in 0..4 step 3
    # CHECK-NEXT:       for j in 0..8
    # CHECK-NEXT:         for i#3 in 0..3  // unroll 3
    # CHECK-NEXT:           C
    "xtc-compile product.py --nest -o ../nest",
    "cat ../nest",
    # CHECK:      C (i: 4, j: 8, k: 16 reduced)
    # CHECK-NEXT:   for i in 0..4
    # CHECK-NEXT:     for j in 0..8
    #
    # For another machine it prints assembly, and builds objects that are not linked.
    "xtc-compile product.py -O triple=aarch64-linux-gnu --stage code",
    # CHECK: product:
    # CHECK: fmla v{{[0-9]+}}.4s
    "xtc-compile product.py -O triple=thumbv7em-none-eabihf -O cpu=cortex-m7 --stage code",
    # CHECK: .cpu cortex-m7
    # CHECK: product:
    # CHECK: vfma.f32
    "xtc-compile product.py -O triple=aarch64-linux-gnu -O cpu=cortex-a53 -o ../cross",
    # CHECK: ../cross: module.o
    "cat ../cross/manifest.json",
    # CHECK: "cpu": "cortex-a53"
    # CHECK: "triple": "aarch64-unknown-linux-gnu"
    #
    # Output goes to a file or a new folder.
    "xtc-compile product.py --stage source --output ../source.mlir",
    "cat ../source.mlir",
    # CHECK-LABEL: $ cat ../source.mlir
    # CHECK: linalg.matmul
    "xtc-compile product.py --output ../built",
    # CHECK: ../built: module.so
    "ls ../built",
    # CHECK:      $ ls ../built
    # CHECK-NEXT: manifest.json
    # CHECK-NEXT: module.so
    #
    # IR after every pass, printed and in files; and the time of every pass.
    "xtc-compile product.py --stage bufferized --print-ir-after-all -o ../out",
    # CHECK: // -----// IR Dump After eliminate-empty-tensors //----- //
    # CHECK: // -----// IR Dump After unroll-loops //----- //
    # CHECK:   linalg.fill
    "xtc-compile product.py --stage bufferized --dump-dir ../dump",
    "cmp ../out ../dump",
    "ls ../dump",
    # CHECK:      $ ls ../dump
    # CHECK-NEXT: 01-winograd-convolutions.mlir
    # CHECK-NEXT: 02-skip-padded-taps.mlir
    # CHECK-NEXT: 03-canonicalize.mlir
    # CHECK-NEXT: 04-expand-reductions.mlir
    # CHECK-NEXT: 05-transpose-operands.mlir
    "xtc-compile product.py --time-passes --stage bufferized -o ../out",
    # CHECK: ms  bufferized/canonicalize
    # CHECK: ms  bufferized
    # CHECK: ms  in all
)
