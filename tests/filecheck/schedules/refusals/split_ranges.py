# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""Segments follow each other and cover the axis."""

from Inputs.refusal import new, refused, refused_data

refused(lambda: new().split("i", {"low": 0, "high": 32}))
# CHECK:      'i[32:32]' of C is empty
# CHECK-NEXT:   note: 'i' ranges from 0 to 32
# CHECK-NEXT:   hint: begin each segment after the one before, the first at 0
refused(lambda: new().split("i", {"low": 0, "high": 40}))
# CHECK:      'i[40:32]' of C is empty
# CHECK-NEXT:   note: 'i' ranges from 0 to 32
# CHECK-NEXT:   hint: begin each segment after the one before, the first at 0
refused(lambda: new().split("i", {"low": 0, "high": -8}))
# CHECK:      'i[0:-8]' of C is empty
# CHECK-NEXT:   note: 'i' ranges from 0 to 32
# CHECK-NEXT:   hint: begin each segment after the one before, the first at 0
refused(lambda: new().split("i", {"low": 4, "high": 8}))
# CHECK:      'i[4:8]' of C does not continue the split of 'i' at 0
# CHECK-NEXT:   note: segments follow each other and cover the axis
refused(lambda: new().split("i", {"low": 0, "high": 16, "top": 16}))
# CHECK:      'i[16:16]' of C is empty
# CHECK-NEXT:   note: 'i' ranges from 0 to 32
# CHECK-NEXT:   hint: begin each segment after the one before, the first at 0
refused(lambda: new().split("i", {"high": 16, "low": 0}))
# CHECK:      'i[16:0]' of C does not continue the split of 'i' at 0
# CHECK-NEXT:   note: segments follow each other and cover the axis
refused(lambda: new().split("i", {"low": 0, "high": "half"}))
# CHECK:      C: split: the number of 'high' is 'half', not an integer
refused_data({"i[0:16]": {}})
# CHECK:      the split of 'i' of C ends at 16, not at 32
# CHECK-NEXT:   hint: add 'i[16:]'
refused_data({"i[0:16]": {}, "i[20:32]": {}})
# CHECK:      'i[20:32]' of C does not continue the split of 'i' at 16
# CHECK-NEXT:   note: segments follow each other and cover the axis
refused_data({"i[0:16]": {}, "j[0:16]": {}})
# CHECK:      'j[0:16]' of C is beside segments of 'i'
# CHECK-NEXT:   note: adjacent segments are of one axis
# CHECK-NEXT:   hint: write 'j[0:16]' inside of a segment of 'i'
refused_data({"i[0:16]": {}, "k[:]": {}})
# CHECK:      'k[:]' of C is beside segments of 'i'
refused_data({"i[0:16]": {}, "i[16:30]": {}})
# CHECK:      the split of 'i' of C ends at 30, not at 32
# CHECK-NEXT:   hint: add 'i[30:]'
refused_data({"i[:16]": {}, "i[16:]": {}, "j": {}})
# CHECK:      'j' follows a segment of C
# CHECK-NEXT:   hint: put it inside the segments, or before them
# An axis is split once, in the part that the surrounding loops leave.
refused_data({"i": {"i[:16]": {}}})
# CHECK:      C: unknown annotation 'i[:16]' of 'i'
# CHECK-NEXT:   hint: one of: buffer, distribute, external, fuse, fuse_consumer, pack, parallelize
refused_data({"i": {}, "i#8": {}, "i[:4]": {}, "i[4:16]": {}})
# CHECK:      the split of 'i' of C ends at 16, not at 8
# CHECK-NEXT:   note: the loops around leave 8 of 32 elements of 'i'
C = new()
C.split("i", {"low": 0, "high": 16})
refused(lambda: C.split("i", {"low": 0, "high": 8}))
# CHECK:      C is already split
# CHECK-NEXT:   hint: split its segments
C = new()
C.split("j", {"low": 0, "high": 16})
refused(lambda: C.split("i", {"low": 0, "high": 8}))
# CHECK:      C is already split
# CHECK-NEXT:   hint: split its segments
refused_data({"i#8": {}, "j[:16]": {"i": {}}, "j[16:]": {}})
# CHECK:      'i' of C already has a loop outside the segment
# CHECK-NEXT:   hint: omit it in the segment, or outside of it
