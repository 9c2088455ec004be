# SPDX-License-Identifier: Apache-2.0
# RUN: rm -rf %t && mkdir %t && cp -r %S/Inputs %t && cp %s %t/Inputs/commands.py
# RUN: %python %t/Inputs/commands.py 2>&1 | FileCheck %s --implicit-check-not=Traceback
"""Each error has a message."""

from session import session

session(
    "xtc-opt dead.mlir --canonicalise",
    # CHECK:      $ xtc-opt dead.mlir --canonicalise
    # CHECK-NEXT: xtc-opt: error: MLIR has no pass 'canonicalise': 'canonicalise' does not refer to
    # CHECK-NEXT:   hint: did you mean 'canonicalize'?
    # CHECK-NEXT: exit code 1
    "xtc-opt dead.mlir --copy-by-loop",
    # CHECK:      xtc-opt: error: MLIR has no pass 'copy-by-loop'
    # CHECK-NEXT:   hint: did you mean 'copy-by-loops'?
    "xtc-opt dead.mlir --cse{fast=1}",
    # CHECK:      xtc-opt: error: MLIR has no pass 'cse{fast=1}'
    "xtc-opt dead.mlir --copy-by-loops{fast=1}",
    # CHECK:      xtc-opt: error: pass 'copy-by-loops' has no option 'fast'
    "xtc-opt dead.mlir --pass-pipeline='func.func(cse)'",
    # CHECK:      xtc-opt: error: pipeline 'func.func(cse)' is not of the form builtin.module(...)
    "xtc-opt dead.mlir --pass-pipeline",
    # CHECK:      xtc-opt: error: pipeline '' is not of the form builtin.module(...)
    "xtc-opt dead.mlir more",
    # CHECK:      xtc-opt: error: 'more' is neither an option nor a pass
    "xtc-opt",
    # CHECK:      xtc-opt: error: the following arguments are required: file
    # CHECK-NEXT: exit code 2
    "xtc-opt dead.mlir --target nul",
    # CHECK:      xtc-opt: error: there is no target 'nul'
    # CHECK-NEXT:   hint: did you mean 'null'?
    "xtc-opt dead.mlir --target null --to lowerd",
    # CHECK:      xtc-opt: error: there is no stage 'lowerd'
    # CHECK-NEXT:   hint: did you mean 'lowered'?
    "xtc-opt dead.mlir --target null --from lowered --to source",
    # CHECK:      xtc-opt: error: stage 'lowered' comes after stage 'source'
    "xtc-opt dead.mlir --to lowered",
    # CHECK:      xtc-opt: error: --from, --to and --option need --target, whose stages are to run
    "xtc-opt dead.mlir --target null -O memory=1",
    # CHECK:      xtc-opt: error: target 'null' has no option 'memory'
    # Invalid MLIR is reported with its line, also in a part of a file.
    "xtc-opt bad_part.mlir",
    # CHECK:      xtc-opt: error: bad_part.mlir: this is not valid MLIR
    # CHECK-NEXT:   note: bad_part.mlir:5:{{[0-9]+}}: {{.*}}no.such_op
    "xtc-opt bad_part.mlir --split-input-file",
    # CHECK:      xtc-opt: error: bad_part.mlir: this is not valid MLIR
    # CHECK-NEXT:   note: bad_part.mlir:5:{{[0-9]+}}: {{.*}}no.such_op
    "xtc-opt gone.mlir",
    # CHECK:      xtc-opt: error: cannot read gone.mlir
    "xtc-opt ..",
    # CHECK:      xtc-opt: error: cannot read ..
)
