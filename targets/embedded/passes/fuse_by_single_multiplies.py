# SPDX-License-Identifier: Apache-2.0
"""fuse-by-single-multiplies: computes int8 contractions and epilogues with plain multiplies."""

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
    """Compute tiles of int8 contractions and their epilogues in registers.

    For cores that have only 32-bit multiplications. The int32 accumulators are never stored. The
    weights must be a constant, which is stored in the order in which tiles read it.

    Before:
        %a = memref.alloc() : memref<1x8x8x16xi32>
        linalg.fill ins(%zero) outs(%a)
        linalg.conv_2d_nhwc_hwcf ins(%x, %w) outs(%a)
        linalg.generic ins(%a, %bias) outs(%y : memref<1x8x8x16xi8>)
    After:
        scf.for %h { scf.for %w { scf.for %f {
          %s = scf.for %r { scf.for %k { .. arith.muli, arith.addi } }
          memref.store .. of the epilogue of the sum } } }

    Contractions of other types, with a schedule, or with non-constant weights stay as they are.

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
