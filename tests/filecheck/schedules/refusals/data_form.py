# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""Data that does not describe a loop nest."""

from Inputs.refusal import refused_data

refused_data("i")
# CHECK:      <schedule>:1:1: the schedule of C is 'i', not loops
refused_data(4)
# CHECK:      the schedule of C is 4, not loops
refused_data([["i"]])
# CHECK:      a list in the schedule of C is not a loop
# CHECK-NEXT:   hint: write loops as text: i, i#4, i[0:48], or 'i#4=unroll'
refused_data({"i + j": {}})
# CHECK:      'i + j' is not a loop of C
# CHECK-NEXT:   hint: write an axis (i), a tile of it (i#4), or a segment (i[0:48])
refused_data({"i#x": {}})
# CHECK:      'i#x' is not a loop of C
# CHECK-NEXT:   hint: write an axis (i), a tile of it (i#4), or a segment (i[0:48])
refused_data({"i[0]": {}})
# CHECK:      'i[0]' is not a loop of C
# CHECK-NEXT:   hint: write an axis (i), a tile of it (i#4), or a segment (i[0:48])
refused_data({3: {}})
# CHECK:      C: a key is a name, not 3
refused_data({"i": "vectorise"})
# CHECK:      C: unknown annotation 'vectorise' of 'i'
# CHECK-NEXT:   hint: did you mean 'vectorize'?
refused_data({"i": 4})
# CHECK:      C: 'i' cannot be 4
# CHECK-NEXT:   hint: one of: unroll, vectorize, parallelize, buffer, pack, fuse
refused_data({"i": [["unroll"]]})
# CHECK:      C: 'i' cannot be a list
# CHECK-NEXT:   hint: one of: unroll, vectorize, parallelize, buffer, pack, fuse
refused_data({"i": {"vectorize": "yes"}})
# CHECK:      C: vectorize of 'i' takes elements or 'reassociate', not 'yes'
refused_data({"i": 2.5})
# CHECK:      C: float has no meaning in a schedule
refused_data({"i": float("nan")})
# CHECK:      C: float has no meaning in a schedule
refused_data({"i": object})
# CHECK:      C: type has no meaning in a schedule
nested = {}
for _ in range(20):
    nested = {"i[0:32]": nested}
refused_data(nested)
# CHECK:      the schedule of C is nested too deep
inside = []
inside.append(inside)
refused_data(inside)
# CHECK:      C: the data is nested too deep
wide = ["i"]
for _ in range(10):
    wide = [wide] * 10
refused_data(wide)
# CHECK:      C: the data has more than 65536 parts
refused_data({"i": {"unroll": 10**30}})
# CHECK:      C: 1000000000000000000000000000000 is out of range
refused_data([f"i#{n}" for n in range(2000, 0, -1)])
# CHECK:      the schedule of C has more than 1024 loops
