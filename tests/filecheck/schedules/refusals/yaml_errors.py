# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""Text is refused at its line and column."""

from Inputs.refusal import refused_text

refused_text("C: {i: {}, j: {, k: {}}}")
# CHECK:      <schedule>:1:16: this is not YAML
# CHECK-NEXT:   note: while parsing a flow node, did not find expected node content
refused_text("C:\n  i: {}\n   j: {}")
# CHECK:      <schedule>:3:4: this is not YAML
# CHECK-NEXT:   note: while parsing a block mapping, did not find expected key
refused_text("C:\n  i:\n  j: vectorise")
# CHECK:      <schedule>:3:6: C: unknown annotation 'vectorise' of 'j'
# CHECK-NEXT:   hint: did you mean 'vectorize'?
refused_text("C:\n  i:\n  jj:\n")
# CHECK:      <schedule>:3:3: C has no axis 'jj'
# CHECK-NEXT:   hint: did you mean 'j'?
refused_text("C:\n  i:\n  j:\n  k: vectorize")
# CHECK:      <schedule>:4:3: 'k' of C cannot be vectorized: 'k' is reduced
# CHECK-NEXT:   note: the sum's order would change
# CHECK-NEXT:   hint: vectorize a parallel axis
refused_text("C: [i, j, k, i#40]")
# CHECK:      <schedule>:1:14: 'i#40' of C covers 40 elements of 32: not a tile
# CHECK-NEXT:   hint: choose a size from 1 to 32
refused_text("C: {'i[:16]': {i: {unroll: -20}}, 'i[16:]': {}}")
# CHECK:      <schedule>:1:[[#]]: C: 'i' cannot be unrolled by -20
refused_text("C: {i: {}, i: {}}")
# CHECK:      <schedule>:1:12: the key 'i' is given twice
# CHECK-NEXT:   note: first at <schedule>:1:5
refused_text("C: &a {i: *a}")
# CHECK:      <schedule>:1:4: anchors are not allowed
refused_text("C: {i: {unroll: 1.5}}")
# CHECK:      <schedule>:1:17: 1.5 has no meaning in a schedule
refused_text("C: {i: {unroll: 2020-01-01}}")
# CHECK:      <schedule>:1:5: C: unroll of 'i' takes a number, not '2020-01-01'
refused_text("C: {i: {unroll: 0x10}}")
# CHECK:      <schedule>:1:5: C: unroll of 'i' takes a number, not '0x10'
refused_text("C: {i: {unroll: 1_000}}")
# CHECK:      <schedule>:1:5: C: unroll of 'i' takes a number, not '1_000'
refused_text("C: {i: {vectorize: yes}}")
# CHECK:      <schedule>:1:5: C: vectorize of 'i' takes elements or 'reassociate', not 'yes'
refused_text("C: {i: !!python/object/apply:os.system [ls]}")
# CHECK:      <schedule>:1:8: tags are not allowed
refused_text("C: {i: {unroll: " + "9" * 80 + "}}")
# CHECK:      <schedule>:1:5: C: unroll of 'i' takes a number, not '99999999
refused_text("C: {[i, j]: {}}")
# CHECK:      <schedule>:1:5: a key is a string
refused_text("C: " + "[" * 50)
# CHECK:      <schedule>:1:43: values are nested deeper than 40
refused_text("C: " + "i" * 70000)
# CHECK:      <schedule>:1:1: the text is longer than 65536 characters
refused_text("[C]")
# CHECK:      <schedule>:1:1: a schedule maps operator names to loop nests
refused_text("D: {i: {}}")
# CHECK:      <schedule>:1:1: graph 'product' has no node 'D'
# CHECK-NEXT:   hint: one of: C, P
