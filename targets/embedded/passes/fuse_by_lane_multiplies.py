# SPDX-License-Identifier: Apache-2.0
"""fuse-by-lane-multiplies: computes int8 contractions and epilogues in vector lanes."""

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
    """Compute tiles of int8 contractions in vectors with the sums of four consecutive columns.

    For Advanced SIMD: an element of x, broadcast to every lane, times 16-bit weights is added to
    32-bit sums (SMLAL by element). The int32 accumulators are never stored, and epilogues are
    computed on vectors. The weights must be a constant, which is stored in the order in which tiles
    read it.

    Before:
        %a = memref.alloc() : memref<1x8x8x16xi32>
        linalg.fill ins(%zero) outs(%a)
        linalg.conv_2d_nhwc_hwcf ins(%x, %w) outs(%a)
        linalg.generic ins(%a, %bias) outs(%y : memref<1x8x8x16xi8>)
    After:
        scf.for %h { scf.for %w step 4 { scf.for %f step 8 {
          %s:8 = scf.for %r { scf.for %k step 8 { .. arith.muli : vector<4xi32> } }
          vector.store .. of each of the eight } } }

    Contractions of other types, with a schedule, or with non-constant weights stay as they are.

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
