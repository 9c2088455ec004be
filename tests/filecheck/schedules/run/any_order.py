# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""Calls may come in any order: tiles, loop order and annotations form a set."""

from Inputs.small import new

import xtc

C = new().vectorize(["j1"]).unroll({"i1": 4}).pack_at("k1", 1)
C.interchange(["k", "j", "i", "k1", "i1", "j1"])
C.tile("j", {"j1": 16}).tile("k", {"k1": 8}).tile("i", {"i1": 4})
print(C)
# CHECK:      for k in 0..16 step 8
# CHECK-NEXT:   for j in 0..48 step 16
# CHECK-NEXT:     for i in 0..32 step 4
# CHECK-NEXT:       for k1 in 0..8  // pack 1
# CHECK-NEXT:         for i1 in 0..4  // unroll 4
# CHECK-NEXT:           for j1 in 0..16  // vectorize
# CHECK-NEXT:             C
tiled_first = new().tile("j", {"j1": 16}).tile("k", {"k1": 8}).tile("i", {"i1": 4})
tiled_first.interchange(["k", "j", "i", "k1", "i1", "j1"])
tiled_first.pack_at("k1", 1).unroll({"i1": 4}).vectorize(["j1"])
print(tiled_first.data == C.data)
# CHECK:      True
# A smaller tile may be defined before the one around it.
print(new().tile("i", {"i2": 4}).tile("i", {"i1": 16}).interchange(["i", "j", "k", "i1", "i2"]))
# CHECK:      for i in 0..32 step 16
# CHECK:        for i1 in 0..16 step 4
# CHECK-NEXT:     for i2 in 0..4
# A missing loop is reported when the schedule is used, with the line of the call.
C = new().vectorize(["j1"])
try:
    print(C.nest)
except xtc.UserError as error:
    print(error)
# CHECK:      any_order.py:[[#@LINE-5]]:{{.*}}C has no loop 'j1'
# CHECK-NEXT:   hint: did you mean 'j'?
C.tile("j", {"j1": 16})
try:
    print(C.data)
except xtc.UserError as error:
    print(error)
# CHECK-NOT:  'j1' of C cannot
# CHECK:      k: {}, j#16: {vectorize: true}
