# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""Unknown axes and loops."""

from Inputs.refusal import new, refused, refused_data

refused(lambda: new().strip_mine("row", {"i1": 4}))
# CHECK:      C has no axis 'row'
# CHECK-NEXT:   hint: one of: i, j, k
refused(lambda: new().split("I", {"low": 0, "high": 16}))
# CHECK:      C has no axis 'I'
# CHECK-NEXT:   hint: one of: i, j, k
refused(lambda: new().vectorize(["j1"]))
# CHECK:      C has no loop 'j1'
# CHECK-NEXT:   hint: did you mean 'j'?
refused(lambda: new().strip_mine("j", {"j16": 16}).vectorize(["j1"]))
# CHECK:      C has no loop 'j1'
# CHECK-NEXT:   hint: did you mean 'j16'?
refused(lambda: new().unroll({"m": 2}))
# CHECK:      C has no loop 'm'
# CHECK-NEXT:   hint: one of: i, j, k
refused(lambda: new().pack_at("m", 0))
# CHECK:      C has no loop 'm'
# CHECK-NEXT:   hint: one of: i, j, k
refused_data({"ii": {}})
# CHECK:      C has no axis 'ii'
# CHECK-NEXT:   hint: did you mean 'i'?
refused_data({"jj[0:4]": {}, "jj[4:]": {}})
# CHECK:      C has no axis 'jj'
# CHECK-NEXT:   hint: did you mean 'j'?
# A split axis has loops only in its segments.
C = new()
C.split("i", {"low": 0, "high": 16})
refused(lambda: C.strip_mine("i", {"i1": 4}))
# CHECK:      axis 'i' of C has no loop here
# CHECK-NEXT:   note: the loops here: none
