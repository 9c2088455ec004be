# SPDX-License-Identifier: Apache-2.0
"""fuse-by-single-multiplies: int8 contractions and what follows them by plain multiplies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.mlir import Operation
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_targets.embedded.passes._narrow_loops import fuse_contractions
from xtc_targets.embedded.passes._scalar_kernels import ScalarKernels


@dataclass(frozen=True)
class FuseBySingleMultiplies(Pass):
    """Compute tiles of int8 contractions in registers, and at once what reads their sums.

    For cores with nothing but multiplications of 32 bits. Sums in int32 are in no memory; the
    weights must be a constant, and are stored in the order in which tiles read them.

    Before:
        %a = memref.alloc() : memref<1x8x8x16xi32>
        linalg.fill ins(%zero) outs(%a)
        linalg.conv_2d_nhwc_hwcf ins(%x, %w) outs(%a)
        linalg.generic ins(%a, %bias) outs(%y : memref<1x8x8x16xi8>)
    After:
        scf.for %h { scf.for %w { scf.for %f {
          %s = scf.for %r { scf.for %k { .. arith.muli, arith.addi } }
          memref.store .. of what follows of the sum } } }

    Contractions of other types, with a schedule, or whose weights are no constant stay as they are.

    Attributes:
        rows: positions of a tile.
        columns: filters of a tile.
    """

    name: ClassVar[str] = "fuse-by-single-multiplies"
    rows: int = 1
    columns: int = 1

    def run(self, module: Operation) -> None:
        fuse_contractions(module, ScalarKernels(self.rows, self.columns, dual=False))

    def __post_init__(self) -> None:
        require_positive(self)
