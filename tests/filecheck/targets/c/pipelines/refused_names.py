# SPDX-License-Identifier: Apache-2.0
# RUN: not xtc-compile %s -O codegen=c --stage code 2>&1 | FileCheck %s
"""A graph is a C function, so it cannot have a name that C or its library uses."""

import xtc.ops as O

with O.graph(name="rand") as gb:
    O.relu(O.tensor((4,), name="free"), name="R")

# CHECK:      xtc-compile: error: a C function cannot be called 'rand'
# CHECK-NEXT:   note: C, its library or the generated code uses the name
# CHECK-NEXT:   hint: call the graph rand_graph
