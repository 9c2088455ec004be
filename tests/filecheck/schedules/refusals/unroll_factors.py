# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""A loop is unrolled by at most what it runs, and not into endless code."""

from Inputs.refusal import new, refused, refused_data

refused(lambda: new().unroll({"i": 33}))
# CHECK:      'i' of C cannot be unrolled by 33: it runs 32 times
# CHECK-NEXT:   hint: a factor from 2 to 32
refused(lambda: new().unroll({"i": 0}))
# CHECK:      'i' of C cannot be unrolled by 0
refused(lambda: new().unroll({"i": -4}))
# CHECK:      'i' of C cannot be unrolled by -4
refused(lambda: new().unroll({"i": 1 << 31}))
# CHECK:      'i' of C cannot be unrolled by 2147483648: it runs 32 times
# CHECK-NEXT:   hint: a factor from 2 to 32
refused(lambda: new().unroll({"i": 10**30}))
# CHECK:      C: unroll: the number of 'i' is 1000000000000000000000000000000, beyond any size
refused(lambda: new().unroll({"i": 2.5}))
# CHECK:      C: unroll: the number of 'i' is 2.5, not an integer
refused(lambda: new().unroll(["i"]))
# CHECK:      C: unroll takes factors by loop, not ['i']
refused(lambda: new().unroll({"i": 32, "j": 48}))
# CHECK:      unrolling makes 1536 copies of C; 512 at most
# CHECK-NEXT:   hint: unroll fewer loops, or by smaller factors
refused_data({"i": {"unroll": 0}})
# CHECK:      C: 'i' cannot be unrolled by 0
refused_data({"i": {"unroll": "all"}})
# CHECK:      C: unroll of 'i' takes a number, not 'all'
refused_data({"i": "unroll:x"})
# CHECK:      C: unroll of 'i' takes a number, not 'x'
refused_data({"i#1": "unroll"})
# CHECK:      'i#1' of C cannot be unrolled by 1: it runs once
# CHECK-NEXT:   hint: leave it away
