# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""Vectorized loops are innermost, and not over a reduction."""

from Inputs.refusal import new, refused, refused_data

import xtc
import xtc.ops as O

refused(lambda: new().vectorize(["j"]))
# CHECK:      'j' of C cannot be vectorized: 'k' is inside it
# CHECK-NEXT:   hint: interchange the loops so that vectorized ones are innermost
refused(lambda: new().vectorize(["k"]))
# CHECK:      'k' of C cannot be vectorized: 'k' is reduced
# CHECK-NEXT:   note: the sum's order would change
# CHECK-NEXT:   hint: vectorize a parallel axis
# CHECK-NEXT:   hint: or allow partial sums: vectorize(['k'], reassociate=True)
refused(lambda: new().vectorize(["j"], reassociate=True).interchange(["i", "k", "j"]))
# CHECK:      'j' of C reassociates vectors, but its axis is not reduced
# CHECK-NEXT:   hint: vectorize it without reassociation
refused(lambda: new().interchange(["i", "k", "j"]).vectorize(["j"]).tile("i", {"i1": 4}))
# CHECK:      'j' of C cannot be vectorized: 'i1' is inside it
# CHECK-NEXT:   hint: interchange the loops so that vectorized ones are innermost
refused_data({"j": "vectorize", "i[:16]": {}, "i[16:]": {}})
# CHECK:      'j' of C cannot be vectorized: 'i[0:16]' is inside it
# CHECK-NEXT:   hint: interchange the loops so that vectorized ones are innermost
refused_data({"k": {}, "i": {}, "j": "vectorize", "j#16": "vectorize"})
# CHECK:      'j#16' of C is inside 'j', which is vectorized as a whole
# CHECK-NEXT:   hint: vectorize 'j#16' alone
refused_data({"k": {}, "i": {}, "j": {"vectorize": 0}})
# CHECK:      C: 'j' cannot be vectorized by 0 elements
refused_data({"k": {}, "i": {}, "j": {"vectorize": "wide"}})
# CHECK:      C: vectorize of 'j' takes elements or 'reassociate', not 'wide'
# Vectors cover some registers, not a matrix.
wide = O.tensor((128, 64), name="X")
with O.graph(name="wide") as gb:
    O.exp(wide, name="Y")
refused(lambda: xtc.Schedule(gb.graph)["Y"].vectorize(["i", "j"]))
# CHECK:      vectorized loops of Y cover 8192 elements at once; 4096 at most
# CHECK-NEXT:   hint: strip-mine the axis to a few vector registers first, as in 'j#32'
# The columns of the image are read with stride two.
image = O.tensor((1, 9, 9, 4), name="X")
weights = O.tensor((3, 3, 4, 8), name="W")
with O.graph(name="conv") as gb:
    O.conv2d(image, weights, stride=2, name="Y")
Y = xtc.Schedule(gb.graph)["Y"]
Y.interchange(["n", "h", "f", "r", "s", "c", "w"])
refused(lambda: Y.vectorize(["w"]))
# CHECK:      'w' of Y cannot be vectorized: an operand is indexed by w * 2 + s
# CHECK-NEXT:   note: its elements are not neighbors
# CHECK-NEXT:   hint: vectorize an axis that indexes every operand alone
# Only both loops of a transposition together load and store contiguous elements.
with O.graph(name="moved") as gb:
    O.transpose(O.tensor((16, 32), name="X"), name="Y")
refused(lambda: xtc.Schedule(gb.graph)["Y"].vectorize(["j"]))
# CHECK:      'j' of Y cannot be vectorized alone: neighbors along 'i' become neighbors along 'j'
# CHECK-NEXT:   hint: vectorize tiles of both: ['i', 'j']
# A position is not combined with others by one operation.
with O.graph(name="place") as gb:
    O.argmax(O.tensor((8, 64), name="X"), axis=1, name="Y")
refused(lambda: xtc.Schedule(gb.graph)["Y"].vectorize(["j"]))
# CHECK:      'j' of Y cannot be vectorized: 'j' is reduced
# Vectors of partial sums are over one reduction.
with O.graph(name="conv") as gb:
    O.conv2d(O.tensor((1, 9, 9, 4), name="X"), O.tensor((3, 3, 4, 8), name="W"), name="Y")
refused(lambda: xtc.Schedule(gb.graph)["Y"].vectorize(["s", "c"], reassociate=True))
# CHECK:      's' and 'c' of Y are both reduced: vectors of partial sums are over one axis
# CHECK-NEXT:   hint: vectorize one of them
