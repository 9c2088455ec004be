# SPDX-License-Identifier: Apache-2.0
"""fuse-by-dot-products: computes int8 contractions and epilogues with dot products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.mlir import Operation
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_targets.embedded.passes._lane_kernels import LaneKernels
from xtc_targets.embedded.passes._narrow_loops import fuse_contractions


@dataclass(frozen=True)
class FuseByDotProducts(Pass):
    """Compute tiles of int8 contractions with instructions that sum four products per lane.

    For Advanced SIMD with dot products: four elements of x, broadcast to every lane, times four
    weights of each column (SDOT). The remainder of the reduction, and tiles whose columns are not a
    multiple of four, are computed as by `fuse-by-lane-multiplies`.

    Before:
        %a = memref.alloc() : memref<1x8x8x16xi32>
        linalg.fill ins(%zero) outs(%a)
        linalg.conv_2d_nhwc_hwcf ins(%x, %w) outs(%a)
        linalg.generic ins(%a, %bias) outs(%y : memref<1x8x8x16xi8>)
    After:
        scf.for %h { scf.for %w step 4 { scf.for %f step 8 {
          %s:8 = scf.for %r { scf.for %k step 16 { .. llvm.call_intrinsic "..sdot.v4i32.v16i8" } }
          vector.store .. of each of the eight } } }

    Contractions of other types, with a schedule, or with non-constant weights stay as they are.

    Attributes:
        rows: positions of a tile.
        columns: filters of a tile.
    """

    name: ClassVar[str] = "fuse-by-dot-products"
    rows: int = 4
    columns: int = 8

    def run(self, module: Operation) -> None:
        fuse_contractions(module, LaneKernels(self.rows, self.columns, dots=True))

    def __post_init__(self) -> None:
        require_positive(self)
