# SPDX-License-Identifier: Apache-2.0
"""fuse-by-dual-multiplies: int8 contractions and what follows them by dual multiply-adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.mlir import Operation
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_targets.embedded.passes._narrow_loops import fuse_contractions
from xtc_targets.embedded.passes._scalar_kernels import ScalarKernels


@dataclass(frozen=True)
class FuseByDualMultiplies(Pass):
    """Compute tiles of int8 contractions by instructions that sum two products at once.

    For cores with the DSP extension: words of four elements are split into halves of 16 bits
    (SXTB16), of which two are multiplied and added at once (SMLAD). Sums in int32 are in no memory;
    the weights must be a constant, and are stored in the order in which tiles read them. Two rows
    and two columns are four sums, and what they multiply, in 13 registers.

    For four columns and more, the rows of a tile are widened to 16 bits first, once for all
    columns, in a buffer that they share; K is one loop in assembly then, whose sums no compiler
    spills.

    Before:
        %a = memref.alloc() : memref<1x8x8x16xi32>
        linalg.fill ins(%zero) outs(%a)
        linalg.conv_2d_nhwc_hwcf ins(%x, %w) outs(%a)
        linalg.generic ins(%a, %bias) outs(%y : memref<1x8x8x16xi8>)
    After:
        scf.for %h { scf.for %w step 2 { scf.for %f step 2 {
          %s:4 = scf.for %r { scf.for %k step 4 { .. llvm.call_intrinsic "llvm.arm.smlad" } }
          memref.store .. of each of the four } } }
    or, with many columns:
        %wide = memref.alloc() : memref<432xi32>
        scf.for %h { scf.for %w step 3 { .. sxtb16 of three rows into %wide
          scf.for %f step 2 { %s:6 = llvm.inline_asm "1: ldrd .. smlad .. bne 1b" %wide, %w } } }

    Contractions of other types, with a schedule, or whose weights are no constant stay as they are.

    Attributes:
        rows: positions of a tile.
        columns: filters of a tile.
        wide: positions of a tile whose rows are widened; 3 take a register of floats beside 14
            others.
    """

    name: ClassVar[str] = "fuse-by-dual-multiplies"
    rows: int = 2
    columns: int = 2
    wide: int = 3

    def run(self, module: Operation) -> None:
        fuse_contractions(module, ScalarKernels(self.rows, self.columns, dual=True, wide=self.wide))

    def __post_init__(self) -> None:
        require_positive(self)
