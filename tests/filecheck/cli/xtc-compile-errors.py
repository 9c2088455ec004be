# SPDX-License-Identifier: Apache-2.0
# RUN: rm -rf %t && mkdir %t && cp -r %S/Inputs %t && cp %s %t/Inputs/commands.py
# RUN: %python %t/Inputs/commands.py 2>&1 | FileCheck %s --implicit-check-not=Traceback
# RUN: ls -A %t | FileCheck %s --check-prefix=LEFT
"""Each error has a message, and leaves no file behind."""

from session import session

# LEFT:     Inputs
# LEFT-NOT: {{.}}
session(
    "xtc-compile product.py",
    # CHECK:      $ xtc-compile product.py
    # CHECK-NEXT: xtc-compile: error: nothing to do
    # CHECK-NEXT:   hint: --stage prints IR, --output names a folder
    # CHECK-NEXT: exit code 1
    "xtc-compile product.py --stage lowerd",
    # CHECK:      xtc-compile: error: argument --stage: invalid choice: 'lowerd'
    # CHECK-NEXT: exit code 2
    "xtc-compile product.py --target hots --stage source",
    # CHECK:      xtc-compile: error: there is no target 'hots'
    # CHECK-NEXT:   hint: did you mean 'host'?
    "xtc-compile product.py -O opt_lvel=3 --stage code",
    # CHECK:      xtc-compile: error: target 'host' has no option 'opt_lvel'
    # CHECK-NEXT:   hint: did you mean 'opt_level'?
    "xtc-compile product.py -O opt_level=high --stage code",
    # CHECK:      xtc-compile: error: option 'opt_level' of target 'host' cannot be 'high'
    # CHECK-NEXT:   note: it is int
    "xtc-compile product.py -O opt_level=7 --stage code",
    # CHECK:      xtc-compile: error: opt_level=7 is not 0, 1, 2 or 3
    "xtc-compile product.py -O cpu --stage code",
    # CHECK:      xtc-compile: error: 'cpu' is not of the form NAME=VALUE
    "xtc-compile product.py -O cpu=haswell -O cpu=znver4 --stage code",
    # CHECK:      xtc-compile: error: 'cpu' is given twice, as 'haswell' and 'znver4'
    "xtc-compile product.py -O cpu=5 --stage code",
    # CHECK:      xtc-compile: error: unknown processor '5' for {{.*}}
    # CHECK-NEXT:   hint: one of {{[0-9]+}}, such as:
    "xtc-compile symbolic.py --stage source",
    # CHECK:      xtc-compile: error: graph 'positive' has the symbolic dimension 'N'
    "xtc-compile symbolic.py --dim N=many --stage source",
    # CHECK:      xtc-compile: error: the size of dimension 'N' is 'many', not a number
    "xtc-compile symbolic.py --dim M=1 --stage source",
    # CHECK:      xtc-compile: error: graph 'positive' has no symbolic dimension 'M'
    "xtc-compile gone.py --stage source",
    # CHECK:      xtc-compile: error: there is no file gone.py
    "xtc-compile dead.mlir --stage source",
    # CHECK:      xtc-compile: error: dead.mlir is neither a .py nor a .yaml nor an .onnx nor a .tflite file
    "xtc-compile trained.pt2 --stage source",
    # CHECK:      xtc-compile: error: trained.pt2 is neither a .py nor
    # CHECK-NEXT:   hint: loading such a file in PyTorch can run code; if you trust it, write a .py with
    "xtc-compile two_graphs.py --stage source",
    # CHECK:      xtc-compile: error: two_graphs.py defines 2 graphs and none is called 'graph'
    # CHECK-NEXT:   hint: assign the graph to use: graph = gb.graph
    "xtc-compile mistake.py --stage source",
    # CHECK:      error: mistake.py:8: K of matmul is 16 in the first operand but 4 in the
    "xtc-compile failing.py --stage source",
    # CHECK:      xtc-compile: error: failing.py failed: ValueError: no rows
    # CHECK-NEXT:   note: failing.py:9 in <module>
    # CHECK-NEXT:   note: failing.py:6 in rows
    "xtc-compile product.py --stage source --schedule @gone.yaml",
    # CHECK:      xtc-compile: error: cannot read gone.yaml
    "xtc-compile product.py --stage source --schedule 'C: {z: {}}'",
    # CHECK:      xtc-compile: error: <schedule>:1:
    "xtc-compile product.py -o ../Inputs",
    # CHECK:      xtc-compile: error: ../Inputs exists
    # CHECK-NEXT:   hint: choose another folder, or delete this one
    "xtc-compile product.py -o ../no/where",
    # CHECK:      xtc-compile: error: cannot create the folder ../no/where: No such file or directory
    "xtc-compile product.py --stage source -o ../no/where",
    # CHECK:      xtc-compile: error: cannot write ../no/where: No such file or directory
    "xtc-compile product.py --stage source -o ..",
    # CHECK:      xtc-compile: error: cannot write ..: Is a directory
    "xtc-compile product.py --stage lowered --dump-dir dead.mlir",
    # CHECK:      xtc-compile: error: cannot dump IR into dead.mlir: File exists
)
