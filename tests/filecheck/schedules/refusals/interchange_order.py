# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""Every loop is named once."""

from Inputs.refusal import new, refused

refused(lambda: new().interchange(["j", "i"]))
# CHECK:      interchange of C: 'k' is missing
# CHECK-NEXT:   hint: name each once: i, j, k
refused(lambda: new().interchange(["j", "j", "i", "k"]))
# CHECK:      interchange of C: a loop is named twice
# CHECK-NEXT:   hint: name each once: i, j, k
refused(lambda: new().interchange(["j", "i", "m"]))
# CHECK:      interchange of C: 'k' is missing
# CHECK-NEXT:   hint: name each once: i, j, k
refused(lambda: new().interchange(["j", "i", "k", "m"]))
# CHECK:      C has no loop 'm'
# CHECK-NEXT:   hint: one of: i, j, k
refused(lambda: new().interchange("jik"))
# CHECK:      C: interchange takes a list of loops, not 'jik'
refused(lambda: new().interchange([]))
# CHECK:      interchange of C: 'i' is missing
# CHECK-NEXT:   hint: name each once: i, j, k
# A tile stays inside the loop that it divides.
refused(lambda: new().tile("i", {"i1": 4}).interchange(["i1", "i", "j", "k"]))
# CHECK:      the loop over all of 'i' of C is inside a tile of it
# CHECK-NEXT:   hint: put 'i' before its tiles
