# SPDX-License-Identifier: Apache-2.0
"""fuse-by-lane-multiplies: int8 contractions and what follows them by multiplies of lanes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.mlir import Operation
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_targets.embedded.passes._lane_kernels import LaneKernels
from xtc_targets.embedded.passes._narrow_loops import fuse_contractions


@dataclass(frozen=True)
class FuseByLaneMultiplies(Pass):
    """Compute tiles of int8 contractions in vectors of four sums, of neighbouring columns.

    For Advanced SIMD: an element of x, in every lane, times weights of 16 bits is added to sums of
    32 bits (SMLAL by element). Sums in int32 are in no memory, and what follows them is computed of
    vectors. The weights must be a constant, and are stored in the order in which tiles read them.

    Before:
        %a = memref.alloc() : memref<1x8x8x16xi32>
        linalg.fill ins(%zero) outs(%a)
        linalg.conv_2d_nhwc_hwcf ins(%x, %w) outs(%a)
        linalg.generic ins(%a, %bias) outs(%y : memref<1x8x8x16xi8>)
    After:
        scf.for %h { scf.for %w step 4 { scf.for %f step 8 {
          %s:8 = scf.for %r { scf.for %k step 8 { .. arith.muli : vector<4xi32> } }
          vector.store .. of each of the eight } } }

    Contractions of other types, with a schedule, or whose weights are no constant stay as they are.

    Attributes:
        rows: positions of a tile.
        columns: filters of a tile.
    """

    name: ClassVar[str] = "fuse-by-lane-multiplies"
    rows: int = 4
    columns: int = 8

    def run(self, module: Operation) -> None:
        fuse_contractions(module, LaneKernels(self.rows, self.columns, dots=False))

    def __post_init__(self) -> None:
        require_positive(self)
