# SPDX-License-Identifier: Apache-2.0
"""fuse-by-dual-multiplies: computes int8 contractions and epilogues with dual multiply-adds."""

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
    """Compute tiles of int8 contractions with instructions that sum two products.

    For cores with the DSP extension: words of four elements are split into 16-bit halves (SXTB16),
    two of which are multiplied and added by one instruction (SMLAD). The int32 accumulators are
    never stored. The weights must be a constant, which is stored in the order in which tiles read
    it. The four accumulators of two rows and two columns fit into 13 registers with their operands.

    For four and more columns, the rows of a tile are first widened to 16 bits, once for all
    columns, in a shared buffer. The loop over K is then in assembly, so that no compiler spills its
    accumulators.

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

    Contractions of other types, with a schedule, or with non-constant weights stay as they are.

    Attributes:
        rows: positions of a tile.
        columns: filters of a tile.
        wide: positions of a tile whose rows are widened; 3 need a float register in addition to 14
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
