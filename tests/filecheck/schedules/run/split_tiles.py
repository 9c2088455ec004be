# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""A tile is split like an axis: each tile is divided into the same segments."""

from Inputs.small import checked, new, of

C = new().tile("i", {"i1": 10})
low, high = C.split("i1", {"low": 0, "high": 4}).values()
low.unroll({"i1": 4})
print(C)
# CHECK:      for i in 0..32 step 10
# CHECK-NEXT:   for j in 0..48
# CHECK-NEXT:     for k in 0..16
# CHECK-NEXT:       for i1 in 0..10 step 10
# CHECK-NEXT:         i[0:4]:
# CHECK-NEXT:           for i1 in 0..4  // unroll 4
# CHECK-NEXT:             C
# CHECK-NEXT:         i[4:10]:
# CHECK-NEXT:           for i1 in 0..6
# CHECK-NEXT:             C
checked(C.data)
# CHECK:      agree
checked({"i": {}, "i#10": {}, "i[0:5]": {"j": {}, "j#8": "vectorize"}, "i[:]": {}})
# CHECK:      agree
# The last tile has 2 elements, so it has only the first segment.
checked(
    {"j": {}, "i": {}, "k": {}, "i#10": {}, "i[:2:]": {"i": "unroll"}, "i[:]": {"i#4": "unroll"}}
)
# CHECK:      agree
# A segment begins where the one before it ends.
print(of({"k[:4]": {}, "k[:4:]": {}, "k[:]": {}}))
# CHECK:      k[0:4]:
# CHECK:      k[4:8]:
# CHECK:      k[8:16]:
checked(
    {"i": {}, "j": {}, "j#12": {}, "k[:7]": {"k#2": {}, "j#4": {}}, "k[:]": {"k#3": {}, "j#4": {}}}
)
# CHECK:      agree
