# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""A packed operand exists, is packed once at a loop, and not inside a vector."""

from Inputs.refusal import new, refused, refused_data

refused(lambda: new().pack_at("i", 2))
# CHECK:      pack at 'i': C has no operand 2
# CHECK-NEXT:   note: it reads 2 operands, counted from 0
refused(lambda: new().pack_at("i", -1))
# CHECK:      pack at 'i': C has no operand -1
# CHECK-NEXT:   note: it reads 2 operands, counted from 0
refused(lambda: new().pack_at("i", 1 << 31))
# CHECK:      pack at 'i': C has no operand 2147483648
# CHECK-NEXT:   note: it reads 2 operands, counted from 0
refused(lambda: new().pack_at("i", "B"))
# CHECK:      C: the operand of pack_at is 'B', not an integer
refused(lambda: new().pack_at("i", None))
# CHECK:      C: the operand of pack_at is None, not an integer
refused(lambda: new().pack_at("m", 0))
# CHECK:      C has no loop 'm'
# CHECK-NEXT:   hint: one of: i, j, k
refused(lambda: new().interchange(["i", "k", "j"]).vectorize(["j"]).pack_at("j", 1))
# CHECK:      'j' of C is vectorized; nothing can be put inside it
# CHECK-NEXT:   hint: use the loop around it
refused_data({"i": "pack"})
# CHECK:      C: pack of 'i' takes the number of an operand or a list of them, not None
# CHECK-NEXT:   hint: {pack: 1} means the second operand
refused_data({"i": {"pack": []}})
# CHECK:      C: pack of 'i' takes the number of an operand or a list of them, not []
# CHECK-NEXT:   hint: {pack: 1} means the second operand
refused_data({"i": {"pack": {"B": 1}}})
# CHECK:      C: pack of 'i' takes the number of an operand or a list of them, not a mapping
# CHECK-NEXT:   hint: {pack: 1} means the second operand
refused_data({"i": {"pack": [0, 0]}})
# CHECK:      pack at 'i' of C names an operand twice
