# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""Threads share parallel loops inside sequential ones; a nested parallel loop runs on one thread."""

from Inputs.small import checked, new

print(new().interchange(["k", "i", "j"]).parallelize(["j"]))
# CHECK:      for k in 0..16
# CHECK-NEXT:   for i in 0..32
# CHECK-NEXT:     for j in 0..48  // parallelize
checked({"k": {}, "i": {}, "j": "parallelize"})
# CHECK:      agree
checked({"i": "parallelize", "k": {}, "j": "parallelize", "i#4": "parallelize"})
# CHECK:      agree
checked({"k": {}, "i#8": "parallelize", "j": {}, "j#16": "parallelize"})
# CHECK:      agree
checked(
    {"k": "pack:0", "k#5": {}, "j": {"parallelize": True, "pack": 1}, "i": {}, "j#7": "vectorize"}
)
# CHECK:      agree
checked({"j[:20]": {"i": "parallelize"}, "j[20:]": {"k": {}, "i": "parallelize"}})
# CHECK:      agree
