# SPDX-License-Identifier: Apache-2.0
# RUN: rm -rf %t && mkdir %t && cp -r %S/Inputs %t && cp %s %t/Inputs/commands.py
# RUN: %python %t/Inputs/commands.py | FileCheck %s --implicit-check-not="exit code"
"""Passes of the project and of MLIR, stages of a target, and every option."""

from session import session

session(
    "xtc-opt --help",
    # CHECK: usage: xtc-opt
    # CHECK: Run passes, or a target's stages, on MLIR.
    # CHECK: --output OUTPUT
    # CHECK: --target TARGET
    # CHECK: --from STAGE
    # CHECK: --to STAGE
    # CHECK: --option NAME=VALUE
    # CHECK: --split-input-file
    # CHECK: --list-passes
    # CHECK: --print-ir-after-all
    # CHECK: --dump-dir DUMP_DIR
    # CHECK: --time-passes
    # CHECK: --timeout SECONDS
    # CHECK: --memory-limit GIB
    # CHECK: xtc-opt file.mlir --pass-pipeline='builtin.module(func.func(cse))'
    "xtc-opt --list-passes",
    # CHECK: copy-by-loops
    #
    # Without a pass, the file is only parsed and printed.
    "xtc-opt dead.mlir -o ../read",
    "cat ../read",
    # CHECK: arith.constant 1
    # CHECK: func.func @g
    #
    # Passes in the syntax of MLIR's tools, before and after the file.
    "xtc-opt dead.mlir --canonicalize",
    # CHECK-LABEL: $ xtc-opt dead.mlir --canonicalize
    # CHECK-NOT: arith.constant
    # CHECK: func.func @g
    "xtc-opt dead.mlir --canonicalize -o ../clean",
    "xtc-opt --canonicalize{top-down=false} dead.mlir -o ../again",
    "cmp ../clean ../again",
    "xtc-opt dead.mlir '--canonicalize=top-down=false max-iterations=2' -o ../again",
    "cmp ../clean ../again",
    "xtc-opt dead.mlir --pass-pipeline='builtin.module(func.func(canonicalize))' -o ../again",
    "cmp ../clean ../again",
    "xtc-opt --pass-pipeline 'builtin.module(func.func(canonicalize))' dead.mlir -o ../again",
    "cmp ../clean ../again",
    #
    # The stages of a target, from the stage of the file; passes run after them.
    "xtc-compile product.py --target host --stage source -o ../source",
    "xtc-compile product.py --target host --stage bufferized -o ../bufferized",
    "xtc-compile product.py --target host --stage lowered -o ../lowered",
    "xtc-opt ../bufferized --target host --from bufferized --to lowered -o ../again",
    "cmp ../lowered ../again",
    "xtc-opt ../bufferized --target host --from bufferized -o ../again",
    "cmp ../lowered ../again",
    "xtc-opt ../bufferized --target host --from bufferized --to bufferized -o ../again",
    "cmp ../bufferized ../again",
    "xtc-opt ../source --target host --to bufferized -o ../again",
    "cmp ../bufferized ../again",
    "xtc-opt ../source --target host -O opt_level=1 --convert-scf-to-cf",
    # CHECK-LABEL: $ xtc-opt ../source --target host -O
    # CHECK: llvm.br
    #
    # Parts of a file, each a separate module.
    "xtc-opt parts.mlir --split-input-file",
    # CHECK-LABEL: $ xtc-opt parts.mlir --split-input-file
    # CHECK:      func.func private @f
    # CHECK:      // -----
    # CHECK-NEXT: module
    # CHECK-NEXT: func.func private @f
    #
    # IR after every pass, printed and in files; and the time of every pass.
    "xtc-opt dead.mlir --canonicalize --cse --print-ir-after-all -o ../out",
    # CHECK: IR Dump After canonicalize
    # CHECK: IR Dump After cse
    "xtc-opt dead.mlir --canonicalize --cse --time-passes -o ../out",
    # CHECK: ms  passes/canonicalize
    # CHECK: ms  in all
    "xtc-opt dead.mlir --canonicalize --cse --dump-dir ../dump -o ../out",
    "ls ../dump",
    # CHECK:      $ ls ../dump
    # CHECK-NEXT: 01-canonicalize.mlir
    # CHECK-NEXT: 02-cse.mlir
)
