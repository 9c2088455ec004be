# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""A factor is a number of 0 or more, and the size of code is limited."""

from Inputs.refusal import new, refused, refused_data

refused(lambda: new().unroll({"i": -4}))
# CHECK:      'i' of C cannot be unrolled by -4
refused(lambda: new().unroll({"i": 10**30}))
# CHECK:      C: unroll: the number of 'i' is 1000000000000000000000000000000, which is out of range
refused(lambda: new().unroll({"i": 2.5}))
# CHECK:      C: unroll: the number of 'i' is 2.5, not an integer
refused(lambda: new().unroll(["i"]))
# CHECK:      C: unroll takes factors by loop, not ['i']
refused(lambda: new().unroll({"i": 32, "j": 48}))
# CHECK:      unrolling makes 1536 copies of C; 512 at most
# CHECK-NEXT:   hint: unroll fewer loops, or by smaller factors
refused_data({"i": {"unroll": -1}})
# CHECK:      C: 'i' cannot be unrolled by -1
refused_data({"i": {"unroll": "all"}})
# CHECK:      C: unroll of 'i' takes a number, not 'all'
refused_data({"i": "unroll:x"})
# CHECK:      C: unroll of 'i' takes a number, not 'x'
