# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s | FileCheck %s
"""Tiles with remainders multiply parts and code, both of which are limited."""

from Inputs.refusal import refused_data

tiles = {f"{axis}#{size}": {} for size in (15, 13, 11, 7, 5, 3) for axis in "ijk"}
refused_data(tiles)
# CHECK:      the schedule of C makes more than 256 parts
# CHECK-NEXT:   note: each tile that does not divide its parent adds a part
# CHECK-NEXT:   hint: choose sizes that divide each other, or fewer tiles and segments
refused_data({"i": {}, "j": {}, "k": {}, "i#31": "unroll", "j#37": {"unroll": 3}, "k#5": "unroll"})
# CHECK:      the schedule of C replicates its body about 1536 times; 1024 at most
# CHECK-NEXT:   hint: unroll fewer loops, vectorize smaller tiles, choose tiles that divide
