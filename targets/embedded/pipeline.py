# SPDX-License-Identifier: Apache-2.0
"""The stages of a board's program, from linalg on tensors to the llvm dialect or to loops for C."""

from __future__ import annotations

from xtc.ir.passes import Pass
from xtc.ir.pipeline import Pipeline, Stage
from xtc_passes.lower._sequences import (
    NO_BF16,
    TO_ARRAYS,
    TO_BRANCHES,
    TO_LLVM,
    TO_MEMREFS,
    to_llvm,
)
from xtc_passes.lower.contract_multiply_adds import ContractMultiplyAdds
from xtc_passes.lower.copy_by_loops import CopyByLoops
from xtc_passes.lower.expand_math import ExpandMath
from xtc_passes.lower.hoist_accumulators import HoistAccumulators
from xtc_passes.lower.split_vectors import SplitVectors
from xtc_passes.tensor.apply_schedules import ApplySchedules
from xtc_passes.tensor.fill_borders import FillBorders
from xtc_passes.tensor.fuse_elementwise import FuseElementwise
from xtc_passes.tensor.linalg_to_named_loops import LinalgToNamedLoops
from xtc_passes.tensor.unroll_loops import UnrollLoops
from xtc_targets.embedded.description import Core
from xtc_targets.embedded.passes.compute_inside_borders import ComputeInsideBorders
from xtc_targets.embedded.passes.divide_exactly import DivideExactly
from xtc_targets.embedded.passes.fuse_by_dot_products import FuseByDotProducts
from xtc_targets.embedded.passes.fuse_by_dual_multiplies import FuseByDualMultiplies
from xtc_targets.embedded.passes.fuse_by_lane_multiplies import FuseByLaneMultiplies
from xtc_targets.embedded.passes.fuse_by_single_multiplies import FuseBySingleMultiplies
from xtc_targets.embedded.passes.outline_operators import OutlineOperators
from xtc_targets.embedded.passes.plan_memory import PlanMemory

_SCALAR_BITS = 32  # without vector registers, vectors become scalars
_C_VECTOR_BITS = 128  # without vector registers, the C compiler splits vectors

SCHEDULED = Stage(
    "scheduled",
    (
        "canonicalize",
        # A chain of elementwise operations needs no intermediate buffers. Requantized results are
        # stored in int8, so narrowing operations are not inlined into their consumers.
        FuseElementwise(narrowing=False),
        ApplySchedules(),
        "canonicalize",
        # After fusion, so that the final producer of a padded tensor writes inside the border.
        FillBorders(),
        ComputeInsideBorders(),
        "canonicalize",
        "cse",
    ),
)


def _fusion(core: Core) -> Pass:
    """The pass that lowers int8 contractions to the best instructions that a core has."""
    if core.dots:
        return FuseByDotProducts()
    if core.vector_bits:
        return FuseByLaneMultiplies()
    return FuseByDualMultiplies(wide=3 if core.fpu else 2) if core.dsp else FuseBySingleMultiplies()


def bufferized(core: Core, *, intrinsics: bool = True) -> Stage:
    """Buffers, except for the accumulators of int8 contractions, which stay in registers."""
    # LLVM splits vectors as well, but only those of rank 1.
    split = (SplitVectors(bits=core.vector_bits or _SCALAR_BITS),) if intrinsics else ()
    # C has no portable names for a core's multiply instructions.
    fuse = _fusion(core) if intrinsics else FuseBySingleMultiplies()
    return Stage(
        "bufferized",
        (
            *TO_MEMREFS,
            # For the vectors of schedules; the int8 kernels below use vectors that fit.
            *split,
            # One buffer serves all iterations of a loop.
            "func.func(buffer-loop-hoisting)",
            # While contractions are still structured operations with named operands.
            fuse,
            UnrollLoops(),
            # A board has a single core.
            "scf-forall-to-for",
            "canonicalize",
            "cse",
        ),
    )


def offloaded(core: Core) -> Stage:
    """One function per operator, and an address for every buffer."""
    return Stage(
        "offloaded",
        (
            OutlineOperators(small=core.small),
            PlanMemory(alignment=16 if core.vector_bits else 8),
            "canonicalize",
            "cse",
        ),
    )


def _rounding(core: Core) -> Pass:
    """Fused multiply-adds if the core has them; otherwise divisions rounded as in C."""
    return ContractMultiplyAdds() if core.fma else DivideExactly()


def lowered(core: Core) -> Stage:
    """The llvm dialect, with indices as wide as the core's addresses."""
    # LLVM cannot generate float64 maxima for 32-bit cores.
    expand = ("arith-expand",) if core.bits == 32 else ()
    return Stage(
        "lowered",
        (
            CopyByLoops(),
            # There is no C library to call.
            ExpandMath(),
            "func.func(fold-memref-alias-ops)",
            "canonicalize",
            "cse",
            # Moves addresses of accumulators out of loops, which shows that they are invariant.
            "loop-invariant-code-motion",
            HoistAccumulators(),
            "convert-linalg-to-loops",
            "canonicalize",
            _rounding(core),
            *NO_BF16,
            *expand,
            *TO_BRANCHES,
            *(TO_LLVM if core.bits == 64 else to_llvm(core.bits)),
        ),
    )


def lowered_to_c(core: Core) -> Stage:
    """Loops over arrays, with the same arithmetic in the same order as `lowered`."""
    return Stage(
        "lowered",
        (
            CopyByLoops(parts=True),
            # As in `lowered`, so that results have the same bits.
            ExpandMath(),
            LinalgToNamedLoops(),
            SplitVectors(bits=core.vector_bits or _C_VECTOR_BITS),
            _rounding(core),
            *TO_ARRAYS,
        ),
    )


def embedded_pipeline(core: Core, codegen: str = "llvm") -> Pipeline:
    """All stages, in order."""
    in_c = codegen == "c"
    last = lowered_to_c(core) if in_c else lowered(core)
    # C has no portable names for dual multiply-adds.
    buffers = bufferized(core, intrinsics=not in_c)
    return Pipeline((Stage("source"), SCHEDULED, buffers, offloaded(core), last))
