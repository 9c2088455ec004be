# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""What would change nothing is a mistake."""

from Inputs.refusal import new, refused

refused(lambda: new().interchange(["i", "j", "k"]))
# CHECK:      interchange of C changes nothing
refused(lambda: new().set_dims(["i", "j", "k"]))
# CHECK:      set_dims of C changes nothing
refused(lambda: new().strip_mine("i", {}))
# CHECK:      strip_mine of 'i' of C names no tile
refused(lambda: new().tile("i", {"i1": 32}))
# CHECK:      'i1' of C covers 32 elements of 32: this is no tile
# CHECK-NEXT:   hint: choose a size from 1 to 31
refused(lambda: new().split("i", {"all": 0}))
# CHECK:      the split of 'i' of C has one segment, which changes nothing
refused(lambda: new().split("i", {}))
# CHECK:      split of 'i' of C names no segment
refused(lambda: new().unroll({"i": 1}))
# CHECK:      'i' of C cannot be unrolled by 1: it runs 32 times
# CHECK-NEXT:   hint: a factor from 2 to 32
refused(lambda: new().unroll({}))
# CHECK:      unroll of C names no loop
refused(lambda: new().vectorize([]))
# CHECK:      vectorize of C names no loop
refused(lambda: new().parallelize([]))
# CHECK:      parallelize of C names no loop
refused(lambda: new().interchange(["i", "k", "j"]).vectorize(["j"]).vectorize(["j"]))
# CHECK:      vectorize of 'j' of C is there already
refused(lambda: new().parallelize(["i"]).parallelize(["i"]))
# CHECK:      parallelize of 'i' of C is there already
refused(lambda: new().unroll({"k": 4}).unroll({"k": 4}))
# CHECK:      unroll of 'k' of C is there already
refused(lambda: new().buffer_at("i").buffer_at("i"))
# CHECK:      buffer of 'i' of C is there already
