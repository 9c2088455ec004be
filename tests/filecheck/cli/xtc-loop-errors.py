# SPDX-License-Identifier: Apache-2.0
# RUN: rm -rf %t && mkdir %t && cp -r %S/Inputs %t && cp %s %t/Inputs/commands.py
# RUN: %python %t/Inputs/commands.py 2>&1 | FileCheck %s --implicit-check-not=Traceback
"""Each error has a message with line and column."""

import loop_mistakes
from session import session

loop_mistakes.write()
session(
    # Invalid schedules are located in the file.
    "xtc-loop word.mlir --nest",
    # CHECK:      xtc-loop: error: word.mlir:4:13: linalg.matmul: unknown annotation 'vectorise' of 'k'
    # CHECK-NEXT:   hint: did you mean 'vectorize'?
    # CHECK-NEXT: exit code 1
    "xtc-loop twice.mlir --nest",
    # CHECK:      error: twice.mlir:4:7: linalg.matmul: the key 'i' is given twice
    "xtc-loop factor.mlir --nest",
    # CHECK:      error: factor.mlir:3:61: linalg.matmul: unroll of 'k' takes a number, not 'two'
    "xtc-loop text.mlir --nest",
    # CHECK:      error: text.mlir:2:3: linalg.matmul: this is not YAML
    # CHECK-NEXT:   note: while parsing a flow node, did not find expected node content
    # CHECK-NEXT:   note: line 1, column 13 of its schedule
    "xtc-loop axis.mlir --run --target null",
    # CHECK:      error: target 'null' runs kernels, not programs
    # CHECK-NEXT:   hint: --target host, or a graph with device=...
    "xtc-loop axis.mlir --nest",
    # CHECK:      error: axis.mlir:3:56: linalg.matmul has no axis 'jj'
    # CHECK-NEXT:   hint: did you mean 'j'?
    "xtc-loop large.mlir --nest",
    # CHECK:      error: large.mlir:3:66: 'i#5' of linalg.matmul covers 5 elements of 4: not a tile
    # CHECK-NEXT:   hint: choose a size from 1 to 4
    "xtc-loop reduced.mlir --stage code",
    # CHECK:      error: reduced.mlir:3:61: 'k' of linalg.matmul cannot be vectorized: 'k' is reduced
    # CHECK-NEXT:   note: the sum's order would change
    # CHECK-NEXT:   hint: vectorize a parallel axis
    "xtc-opt large.mlir --memref-signature --apply-schedules",
    # CHECK:      xtc-opt: error: large.mlir:3:66: 'i#5' of linalg.matmul covers 5 elements of 4
    #
    # So are attributes of other types.
    "xtc-loop number.mlir --nest",
    # CHECK:      error: number.mlir:2:3: loop.schedule of linalg.matmul is not a dictionary, text or list
    # CHECK-NEXT:   hint: loop.dims = ["i", "j"], loop.schedule = {"j", "i", "i#4" = {"unroll"}}
    "xtc-loop alias.mlir --nest",
    # CHECK:      error: alias.mlir:3:3: loop.schedule of linalg.matmul is not a dictionary, text or list
    # CHECK-NEXT:   note: MLIR keeps no order of a dictionary under an alias, or with escapes
    "xtc-loop escape.mlir --nest",
    # CHECK:      error: escape.mlir:2:3: loop.schedule of linalg.matmul is not a dictionary, text or list
    # CHECK-NEXT:   note: MLIR keeps no order of a dictionary under an alias, or with escapes
    "xtc-loop unclosed.mlir --nest",
    # CHECK:      error: unclosed.mlir: this is not valid MLIR
    # CHECK-NEXT:   note: unclosed.mlir:3:52: expected '}' in attribute dictionary
    "xtc-loop none.mlir --nest",
    # CHECK:      error: no operator of the file has loop.schedule
    # CHECK-NEXT:   hint: loop.schedule = {"i", "j", "j#16" = {"vectorize"}}
    "xtc-loop nameless.mlir --nest",
    # CHECK:      error: nameless.mlir:3:21: linalg.matmul has loop.schedule but no loop.dims
    "xtc-loop names.mlir --nest",
    # CHECK:      error: names.mlir:3:[[#]]: loop.dims names 4 loops of linalg.matmul, which has 3
    "xtc-loop same.mlir --nest",
    # CHECK:      error: same.mlir:3:50: loop.dims of linalg.matmul has 'i', which cannot name one loop
    # CHECK-NEXT:   hint: letters, digits and _, each name once
    "xtc-opt axis.mlir --apply-schedules",
    # CHECK:      error: axis.mlir:3:50: linalg.matmul has loop.schedule, but does not compute one tensor
    # CHECK-NEXT:   hint: --memref-signature rewrites functions on memrefs
    "xtc-loop softmax.mlir --nest",
    # CHECK:      error: softmax.mlir:2:59: linalg.softmax has loop.schedule, but no loops that a schedule
    # CHECK-NEXT:   hint: schedule linalg.generic, or a named operation that is a form of it
    "xtc-opt open.mlir --apply-schedules",
    # CHECK:      error: open.mlir:2:55: linalg.exp has a schedule, but its sizes are not all known
    # CHECK-NEXT:   note: an operand is tensor<?xf32>
    "xtc-loop body.mlir --stage scheduled",
    # CHECK:      error: body.mlir:6:49: linalg.generic cannot be vectorized: its body has no form on
    # CHECK:        hint: leave its loops scalar, or write the body with arith and math operations
    #
    # Functions that cannot be converted to the form of the stage `source`.
    "xtc-loop dynamic.mlir --nest",
    # CHECK:      error: dynamic.mlir:1:1: func.func has an array memref<?x8xf32>, whose sizes are not
    "xtc-loop strided.mlir --nest",
    # CHECK:      error: strided.mlir:1:1: func.func has an array {{.*}}, which is not dense
    "xtc-loop returned.mlir --nest",
    # CHECK:      error: returned.mlir:4:3: the function returns memref<4xf32>; tensors alone become
    "xtc-loop copied.mlir --nest",
    # CHECK:      error: copied.mlir:4:3: memref.copy uses a buffer; only linalg operations, memref.alloc
    # CHECK-NEXT:   hint: write the function on tensors
    #
    # Functions that may access memory outside of their arrays are not run.
    "xtc-loop calls.mlir --run",
    # CHECK:      error: function 'system' is not run: it has no body
    "xtc-loop calls.mlir --measure",
    # CHECK:      error: function 'system' is not run: it has no body
    "xtc-loop beyond.mlir --run",
    # CHECK:      error: linalg.generic is not run: its indices wrap around
    "xtc-loop number_argument.mlir --run",
    # CHECK:      error: argument0 is i32, not an array
    "xtc-loop truth.mlir --run",
    # CHECK:      error: argument0 has elements i1
    "xtc-loop nothing.mlir --run",
    # CHECK:      error: function 'f' takes no arrays, so it has no results
    "xtc-loop forms.mlir --run",
    # CHECK:      error: the file has 4 functions
    # CHECK-NEXT:   hint: choose one: --function NAME
    "xtc-loop forms.mlir --nest --function row",
    # CHECK:      error: the file has no function 'row'
    "xtc-loop forms.mlir --nest --function plain",
    # CHECK:      error: no operator of 'plain' has loop.schedule
    "xtc-loop forms.mlir --run --function row",
    # CHECK:      error: the file has no function 'row'
    # CHECK-NEXT:   hint: did you mean 'rows'?
    #
    # Options.
    "xtc-loop product.mlir",
    # CHECK:      error: nothing to do
    # CHECK-NEXT:   hint: --nest, --stage, --run or --measure
    "xtc-loop gone.mlir --nest",
    # CHECK:      error: cannot read gone.mlir
    "xtc-loop product.mlir --stage lowerd",
    # CHECK:      error: argument --stage: invalid choice: 'lowerd'
    # CHECK-NEXT: exit code 2
    "xtc-loop product.mlir --run --seed -1",
    # CHECK:      error: seed is -1
    "xtc-loop product.mlir --measure --repeat 0",
    # CHECK:      error: repeat is 0
    "xtc-loop product.mlir --stage source --target hots",
    # CHECK:      error: there is no target 'hots'
    "xtc-loop product.mlir --run -O triple=aarch64-none-elf",
    # CHECK:      error: code for aarch64-{{.*}} cannot run in this process
    "xtc-loop product.mlir --run --timeout 0.001",
    # CHECK:      error: compiling product.mlir took longer than 0.001 s and was ended
)
