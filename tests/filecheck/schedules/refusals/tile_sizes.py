# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""Tiles are smaller than their loops, and have positive sizes."""

from Inputs.refusal import new, refused, refused_data

refused(lambda: new().tile("i", {"i1": 33}))
# CHECK:      'i1' of C covers 33 elements of 32: not a tile
# CHECK-NEXT:   hint: choose a size from 1 to 32
refused(lambda: new().tile("i", {"i1": 4, "i2": 8}))
# CHECK:      'i2' of C covers 8 elements of 4: not a tile
# CHECK-NEXT:   hint: choose a size from 1 to 4
refused(lambda: new().tile("i", {"i1": 0}))
# CHECK:      'i1' of C covers 0 elements; 1 at least
refused(lambda: new().tile("i", {"i1": -4}))
# CHECK:      'i1' of C covers -4 elements; 1 at least
refused(lambda: new().tile("i", {"i1": 1 << 31}))
# CHECK:      'i1' of C covers 2147483648 elements of 32: not a tile
# CHECK-NEXT:   hint: choose a size from 1 to 32
refused(lambda: new().tile("i", {"i1": 10**30}))
# CHECK:      C: tile: the number of 'i1' is 1000000000000000000000000000000, which is out of range
refused(lambda: new().tile("i", {"i1": 4.0}))
# CHECK:      C: tile: the number of 'i1' is 4.0, not an integer
refused(lambda: new().tile("i", {"i1": True}))
# CHECK:      C: tile: the number of 'i1' is True, not an integer
refused(lambda: new().tile("i", 4))
# CHECK:      C: tile takes tile sizes by name, not 4
refused_data({"i#64": {}})
# CHECK:      'i#64' of C covers 64 elements of 32: not a tile
# CHECK-NEXT:   hint: choose a size from 1 to 32
refused_data({"i#0": {}})
# CHECK:      'i#0' of C covers 0 elements; 1 at least
refused_data({"i#-4": {}})
# CHECK:      'i#-4' of C covers -4 elements; 1 at least
refused_data(["i", "j", "i"])
# CHECK:      the schedule of C has two loops 'i'
refused_data({"i#4": {}, "i": {}})
# CHECK:      the loop over all of 'i' of C is inside a tile of it
# CHECK-NEXT:   hint: put 'i' before its tiles
# Too many tiles.
refused(lambda: new().tile("i", {f"i{n}": 5000 - n for n in range(80)}))
# CHECK:      the schedule of C has 83 loops; at most 64
refused(lambda: new().tile("i", {f"i{n}": 5000 - n for n in range(2000)}))
# CHECK:      C: tile is given 2000 items or more; 1024 at most
