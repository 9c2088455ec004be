# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""Threads do not share a reduction; blocks are outermost."""

from Inputs.refusal import new, product, refused, refused_data

import xtc

refused(lambda: new().interchange(["k", "i", "j"]).parallelize(["k"]))
# CHECK:      'k' of C cannot be parallelized: 'k' is reduced
# CHECK-NEXT:   note: threads would add to one element at the same time
# CHECK-NEXT:   hint: parallelize an axis of the result
refused_data({"i": {"parallelize": True, "unroll": 4}, "j": {}, "k": {}})
# CHECK:      'i' of C is parallel and vectorized or unrolled
refused_data({"i": {"parallelize": True, "pack": 1}, "j": "parallelize", "k": {}})
# CHECK:      'i' and 'j' of C run as one parallel loop; nothing can be put between them
# CHECK-NEXT:   hint: put it inside 'j'


# A machine with blocks of threads has two levels, and no more.
def blocks(nest: object) -> xtc.Schedule:
    return xtc.Schedule.of(product(), {"C": nest}, "nvgpu")


print(blocks({"i": "parallelize", "k": {}, "i#8": "parallelize", "j": "parallelize"}))
# CHECK:      for i in 0..32 step 8  // parallelize
# CHECK-NEXT:   for k in 0..16
# CHECK-NEXT:     for i#8 in 0..8  // parallelize
# CHECK-NEXT:       for j in 0..48  // parallelize
three = dict.fromkeys(("i", "i#8", "i#2"), "parallelize") | {"j": {}, "k": {}}
refused(lambda: blocks(three))
# CHECK:      'i#2' of C cannot be parallelized inside 'i'
# CHECK-NEXT:   hint: two levels at most: blocks, and the threads of each
refused(lambda: blocks({"j": {}, "i": "parallelize", "k": {}, "i#8": "parallelize"}))
# CHECK:      'i' of C cannot be parallelized inside 'j'
# CHECK-NEXT:   hint: interchange the loops so that parallel ones are outermost
refused(lambda: blocks({"i": "parallelize", "j": "parallelize", "k": "parallelize"}))
# CHECK:      'k' of C cannot be parallelized: 'k' is reduced
