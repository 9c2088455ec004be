# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""The ends of a parameter space are accepted: requests without effect get a note."""

from Inputs.small import checked, graph, new, of

import xtc

print(new().tile("i", {"i1": 32, "i2": 8, "i3": 8}).unroll({"i2": 1, "i3": 64}))
# CHECK:      for i in 0..32 step 32
# CHECK-NEXT:   for j in 0..48
# CHECK-NEXT:     for k in 0..16
# CHECK-NEXT:       for i1 in 0..32 step 8
# CHECK-NEXT:         for i2 in 0..8 step 8
# CHECK-NEXT:           for i3 in 0..8  // unroll 8
# CHECK-NEXT:             C
# CHECK-NEXT: note: 'i1' covers all of 'i', which runs once
# CHECK-NEXT: note: 'i3' covers all of 'i2', which runs once
# CHECK-NEXT: note: 'i2' runs once: unroll has no effect
# CHECK-NEXT: note: 'i3' is unrolled by 8, all of its iterations
print(new().tile("j", {"j1": 16}).vectorize(["j1"]).unroll({"j1": 16, "k": 1}))
# CHECK:      for k in 0..16
# CHECK-NEXT:   for j1 in 0..16  // vectorize
# CHECK-NEXT:     C
# CHECK-NEXT: note: unroll of 'k' by 1 has no effect
# CHECK-NEXT: note: 'j1' is vectorized, so unrolled: unroll has no effect
print(new().tile("j", {"j1": 1}).vectorize(["j1"]))
# CHECK:        for j1 in 0..1
# CHECK-NEXT:     C
# CHECK-NEXT: note: 'j1' has one element: vectorize has no effect
print(new().tile("i", {"i1": 32}).parallelize(["i"]))
# CHECK:      for i in 0..32 step 32
# CHECK:        'i' runs once: parallelize has no effect
# Loops of one iteration do not restrict other loops.
print(of({"i": {}, "k": {}, "j": {}, "j#16": "vectorize", "k#1": {}, "i#1": {}}))
# CHECK:        for j#16 in 0..16  // vectorize
# CHECK-NEXT:     for k#1 in 0..1
# CHECK-NEXT:       for i#1 in 0..1
# CHECK-NEXT:         C
print(of({"i[0:32]": {"i": {"fuse": 0}, "i#32": {}, "j": {}, "k": {}}}))
# CHECK:      i[0:32]:
# CHECK:        for i in 0..32 step 32
# CHECK:      note: the split of 'i' has one segment, which has no effect
# CHECK-NEXT: note: 'i#32' covers all of 'i', which runs once
# CHECK-NEXT: note: 'i' runs once: fuse has no effect
# Empty and repeated requests are accepted.
print(new().vectorize([]).parallelize([]).unroll({}).tile("i", {}).interchange(["i", "j", "k"]))
# CHECK:      C (i: 32, j: 48, k: 16 reduced)
# CHECK-NEXT:   for i in 0..32
# CHECK-NEXT:     for j in 0..48
# CHECK-NEXT:       for k in 0..16
# CHECK-NEXT:         C
# CHECK-NOT:  note
print(new().pack_at("i", 1).pack_at("i", 1).buffer_at("i").buffer_at("i").data)
# CHECK:      {i: {buffer: true, pack: [1]}, j: {}, k: {}}
# Two tiles of one size need a list.
print(new().tile("i", {"i1": 4, "i2": 4}).unroll({"i2": 4}).data)
# CHECK:      [i: {}, j: {}, k: {}, i#4: {}, i#4: {unroll: 4}]
print(of(["i", "j", "k", "i#4", "i#4=unroll"]).data)
# CHECK:      [i: {}, j: {}, k: {}, i#4: {}, i#4: {unroll: 4}]
# A reduction beside an axis of the result: a vector for each of its elements, in their order.
print(of({"i": {}, "j": {}, "k": {}, "j#16": "vectorize", "k#4": "vectorize"}))
# CHECK:        for k in 0..16 step 4
# CHECK-NEXT:     for k#4 in 0..4  // unroll 4
# CHECK-NEXT:       for j#16 in 0..16  // vectorize
# CHECK-NEXT:         C
# CHECK-NEXT: note: 'k#4' is reduced: it is unrolled around the vectors of 'j#16'
checked({"i": {}, "j": {}, "k": {}, "j#16": "vectorize", "k#5": "vectorize"})
# CHECK:      agree
# Arguments and constants are not fused.
print(new().fuse_producer_at("i", 1))
# CHECK:      note: operand 1 is an argument or a constant: fuse has no effect
# A module prints the notes, with the names of the data form.
schedule = xtc.Schedule(graph())
schedule["C"].set_dims(["a", "b", "c"]).tile("a", {"a1": 32}).unroll({"c": 1, "b": 100, "a1": 1})
with xtc.compile(graph(), schedule=schedule) as module:
    print(module.schedule["C"])
# CHECK:          for i#32 in 0..32
# CHECK:      note: 'i#32' covers all of 'i', which runs once
# CHECK-DAG:  note: unroll of 'k' by 1 has no effect
# CHECK-DAG:  note: 'j' is unrolled by 48, all of its iterations
# CHECK-DAG:  note: unroll of 'i#32' by 1 has no effect
# Blank texts and truth values, in data and in calls; the result's letter for a buffer.
print(of({"i": "", "k": {"unroll": False}, "C": "buffer", "j": {"vectorize": True}}).data)
# CHECK:      {i: {}, k: {buffer: true}, j: {vectorize: true}}
print(new().unroll({"i": True, "k": False}).vectorize({"j": False}).data)
# CHECK:      {i: {unroll: 32}, j: {}, k: {}}
# Vectors of a given width stay innermost when a tile is added later.
print(new().vectorize({"j": 16}).tile("i", {"i1": 4}).tile("k", {"k1": 2}).data)
# CHECK:      {i: {}, j: {}, k: {}, i#4: {}, k#2: {}, j#16: {vectorize: true}}
