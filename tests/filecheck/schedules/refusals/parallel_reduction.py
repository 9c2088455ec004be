# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""Threads share no sum, and start outermost."""

from Inputs.refusal import new, refused, refused_data

import xtc
import xtc.ops as O

refused(lambda: new().interchange(["k", "i", "j"]).parallelize(["k"]))
# CHECK:      'k' of C cannot be parallelized: 'k' is reduced
# CHECK-NEXT:   note: threads would add to one element at the same time
# CHECK-NEXT:   hint: parallelize an axis of the result
refused(lambda: new().parallelize(["j"]))
# CHECK:      'j' of C cannot be parallelized inside 'i'
# CHECK-NEXT:   hint: interchange the loops so that parallel ones are outermost
refused(lambda: new().tile("i", {"i1": 4}).parallelize(["i1"]))
# CHECK:      'i1' of C cannot be parallelized inside 'i'
# CHECK-NEXT:   hint: interchange the loops so that parallel ones are outermost
refused_data({"i": "parallelize", "i#8": "parallelize", "j": {}, "k": {}})
# CHECK:      'i#8' of C cannot be parallelized inside 'i'
# CHECK-NEXT:   hint: interchange the loops so that parallel ones are outermost
refused_data({"i": {"parallelize": True, "unroll": 4}, "j": {}, "k": {}})
# CHECK:      'i' of C is parallel and vectorized or unrolled
refused_data({"j": "parallelize", "i[:16]": {"i": "parallelize"}, "i[16:]": {}})
# CHECK:      'i' of C cannot be parallelized inside 'k'
# CHECK-NEXT:   hint: interchange the loops so that parallel ones are outermost
refused_data({"i": {"parallelize": True, "pack": 1}, "j": "parallelize", "k": {}})
# CHECK:      'i' and 'j' of C run as one parallel loop; nothing can be put between them
# CHECK-NEXT:   hint: put it inside 'j'
row = O.tensor((1, 64), name="X")
with O.graph(name="row") as gb:
    O.exp(row, name="Y")
refused(lambda: xtc.Schedule(gb.graph)["Y"].parallelize(["i"]))
# CHECK:      'i' of Y runs once; nothing to parallelize
