# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""Duplicate and invalid names."""

from Inputs.refusal import new, refused, refused_data

refused(lambda: new().strip_mine("i", {"i1": 8}).strip_mine("j", {"i1": 8}))
# CHECK:      C already has a loop 'i1'
refused(lambda: new().strip_mine("i", {"j": 8}))
# CHECK:      C already has a loop 'j'
refused(lambda: new().strip_mine("i", {"i 1": 8}))
# CHECK:      'i 1' is not a valid name for a loop of C
# CHECK-NEXT:   hint: letters, digits and _, at most 64
refused(lambda: new().strip_mine("i", {"i" * 65: 8}))
# CHECK:      'iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii' is not a valid name for a loop of C
# CHECK-NEXT:   hint: letters, digits and _, at most 64
refused(lambda: new().set_dims(["m", "n", "n"]))
# CHECK:      set_dims of C takes 3 distinct names
# CHECK-NEXT:   note: its axes are i, j, k
refused(lambda: new().set_dims(["m", "n"]))
# CHECK:      set_dims of C takes 3 distinct names
# CHECK-NEXT:   note: its axes are i, j, k
refused(lambda: new().set_dims(["m", "n", "1k"]))
# CHECK:      '1k' is not a valid name for a loop of C
# CHECK-NEXT:   hint: letters, digits and _, at most 64
refused(lambda: new().set_dims(["m", "n", 3]))
# CHECK:      C: 3 is not a name
refused(lambda: new().set_dims("mnk"))
# CHECK:      C: set_dims takes a list of names, not 'mnk'
refused(lambda: new().strip_mine("i", {"i1": 8}).set_dims(["m", "n", "k"]))
# CHECK:      set_dims of C comes after other scheduling calls
refused_data({"i": ["unroll", "unroll"]})
# CHECK:      'i' of C has the annotation 'unroll' twice
