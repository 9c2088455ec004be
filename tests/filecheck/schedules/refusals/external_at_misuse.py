# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
# RUN: not xtc-loop %S/Inputs/external.mlir --run 2>&1 | FileCheck %s --check-prefix=FILE
# FILE:      'i' of linalg.matmul calls 'f', which is not run: its memory accesses are unknown
# FILE-NEXT:   hint: xtc.compile runs graphs whose schedules call functions
"""An external function replaces plain loops, and has a valid C name and sources."""

from Inputs.refusal import new, refused, refused_data

refused(lambda: new().external_at("k", "f"))
# CHECK:      'k' of C calls a function, but no loop is inside it to be replaced
# CHECK-NEXT:   hint: name the loop around its tile
refused(lambda: new().vectorize(["j"]).interchange(["i", "k", "j"]).external_at("k", "f"))
# CHECK:      'j' of C is inside 'k', which calls a function: it cannot have vectorize
# CHECK-NEXT:   hint: the function replaces all loops inside 'k'
refused(lambda: new().external_at("i", "f").external_at("j", "g"))
# CHECK:      'j' of C is inside 'i', which calls a function: it cannot have external g
refused(lambda: [node := new().external_at("i", "f"), node.split("j", {"a": 0, "b": 20})][0])
# CHECK:      'i' of C calls a function, but 'j[0:20]' is inside it
# CHECK-NEXT:   hint: call it in a loop of each segment
refused(lambda: new().interchange(["i", "k", "j"]).vectorize(["j"]).external_at("j", "f"))
# CHECK:      'j' of C calls a function and is vectorized or distributed
refused(lambda: new().external_at("j", "while"))
# CHECK:      'j' cannot call 'while': not a valid name in C
refused(lambda: new().external_at("j", "f(x)"))
# CHECK:      'j' cannot call 'f(x)': not a valid name in C
refused(lambda: new().external_at("j", "f", sources="absent.c"))
# CHECK:      external_at: there is no file absent.c
refused(lambda: new().external_at("j", "f", sources=3))
# CHECK:      external_at takes a list of files, not 3
refused(lambda: new().external_at("j", "f", sources=[3]))
# CHECK:      external_at takes paths of files, not 3
refused(lambda: new().external_at("j", "f", flags="-O2"))
# CHECK:      external_at takes a list of flags of the compiler, not '-O2'
refused(lambda: new().external_at("m", "f"))
# CHECK:      C has no loop 'm'
refused_data({"i": {}, "j": "external", "k": {}})
# CHECK:      external of 'j' takes a function and its sources
# CHECK-NEXT:   hint: {external: {function: f, sources: [f.c]}}
refused_data({"i": {}, "j": {"external": {"function": "f", "files": []}}, "k": {}})
# CHECK:      external of 'j' has no 'files'
# CHECK-NEXT:   hint: one of: function, sources, flags
refused_data({"i": {}, "j": {"external": {"function": "f", "sources": [1]}}, "k": {}})
# CHECK:      sources of the external function of 'j' are strings
