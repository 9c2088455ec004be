# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""A buffer belongs to an existing loop that is not inside a vector."""

from Inputs.refusal import new, refused, refused_data

refused(lambda: new().buffer_at("i1"))
# CHECK:      C has no loop 'i1'
# CHECK-NEXT:   hint: did you mean 'i'?
refused(lambda: new().buffer_at(["i"]))
# CHECK:      C: ['i'] is not a name
refused(lambda: new().interchange(["i", "k", "j"]).vectorize(["j"]).buffer_at("j"))
# CHECK:      'j' of C is vectorized; nothing can be put inside it
# CHECK-NEXT:   hint: use the loop around it
refused_data({"i": {"buffer": 1}})
# CHECK:      C: buffer of 'i' takes no value, not 1
