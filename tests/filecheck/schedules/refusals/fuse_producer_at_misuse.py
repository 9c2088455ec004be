# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""A fused operand exists, and is not computed in an outer loop."""

from Inputs.refusal import new, product, refused, refused_data

import xtc

refused(lambda: new().fuse_producer_at("i", 2))
# CHECK:      fuse at 'i': C has no operand 2
# CHECK-NEXT:   note: it reads 2 operands, counted from 0
refused(lambda: new().fuse_producer_at("m", 0))
# CHECK:      C has no loop 'm'
# CHECK-NEXT:   hint: one of: i, j, k
refused(lambda: new().fuse_producer_at("i", 0).fuse_producer_at("j", 0))
# CHECK:      fuse at 'j': operand 0 of C is computed before 'j' is reached, by its fuse at 'i'
# CHECK-NEXT:   hint: omit one of the two, or fuse at 'i' or outside of it
refused(lambda: new().pack_at("i", 0).fuse_producer_at("j", 0))
# CHECK:      fuse at 'j': operand 0 of C is computed before 'j' is reached, by its pack at 'i'
# CHECK-NEXT:   hint: omit one of the two, or fuse at 'i' or outside of it
refused_data({"k": {}, "i": {}, "j": {"vectorize": True, "fuse": 0}})
# CHECK:      'j' of C is vectorized; nothing can be put inside it
# CHECK-NEXT:   hint: use the loop around it
refused_data({"i": {"fuse": True}})
# CHECK:      C: fuse of 'i' takes the number of an operand or a list of them, not True
# CHECK-NEXT:   hint: {fuse: 1} means the second operand
# A producer with a separate schedule cannot be fused.
both = {"P": {"i": {}, "j": {}}, "C": {"i": {"fuse": 0}}}
refused(lambda: xtc.compile(product(), schedule=both))
# CHECK:      refusal.py:17:1: operand 0 of C is to be fused, but has a separate schedule
# CHECK-NEXT:   hint: omit one of the two
refused_data({"k": {}, "i": {}, "j": "fuse_consumer"})
# CHECK:      the consumer of C cannot be fused at 'j': its tile is not complete inside 'k'
