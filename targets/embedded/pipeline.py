# SPDX-License-Identifier: Apache-2.0
"""The stages of a board's program, from linalg on tensors to the llvm dialect."""

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

_SCALAR_BITS = 32  # of vectors, where a core has none
_C_VECTOR_BITS = 128  # where a core has none, compilers take vectors apart

SCHEDULED = Stage(
    "scheduled",
    (
        "canonicalize",
        # A chain of elementwise operations needs no memory in between; what is requantised is kept
        # in int8, rather than its sums.
        FuseElementwise(narrowing=False),
        ApplySchedules(),
        "canonicalize",
        # After fusion, which may compute what is padded where it is padded.
        FillBorders(),
        ComputeInsideBorders(),
        "canonicalize",
        "cse",
    ),
)


def _fusion(core: Core) -> Pass:
    """What writes int8 contractions, by the best instructions for them that a core has."""
    if core.dots:
        return FuseByDotProducts()
    if core.vector_bits:
        return FuseByLaneMultiplies()
    return FuseByDualMultiplies(wide=3 if core.fpu else 2) if core.dsp else FuseBySingleMultiplies()


def bufferized(core: Core, *, intrinsics: bool = True) -> Stage:
    """Buffers, but for sums of int8 products, which stay in registers."""
    # LLVM takes vectors apart as well, but not those of a rank above 1.
    split = (SplitVectors(bits=core.vector_bits or _SCALAR_BITS),) if intrinsics else ()
    # C has no words for instructions of a core.
    fuse = _fusion(core) if intrinsics else FuseBySingleMultiplies()
    return Stage(
        "bufferized",
        (
            *TO_MEMREFS,
            # Those of schedules. Kernels of int8 have vectors that fit instructions.
            *split,
            # Buffers of an iteration exist once.
            "func.func(buffer-loop-hoisting)",
            # While operations are whole and their operands known by name.
            fuse,
            UnrollLoops(),
            # A board's core is alone.
            "scf-forall-to-for",
            "canonicalize",
            "cse",
        ),
    )


def offloaded(core: Core) -> Stage:
    """Functions of operators, and an address for every buffer."""
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
    """Multiply-adds where a core has them; elsewhere the last bits that C has."""
    return ContractMultiplyAdds() if core.fma else DivideExactly()


def lowered(core: Core) -> Stage:
    """The llvm dialect, with indices as wide as the core's addresses."""
    # LLVM has no code for maxima of float64 on cores of 32 bits.
    expand = ("arith-expand",) if core.bits == 32 else ()
    return Stage(
        "lowered",
        (
            CopyByLoops(),
            # There is no C library.
            ExpandMath(),
            "func.func(fold-memref-alias-ops)",
            "canonicalize",
            "cse",
            # An accumulator's address is seen not to change once it is computed outside of loops.
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
            # As there; so results have the same bits.
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
    # C has no names for dual multiply-adds.
    buffers = bufferized(core, intrinsics=not in_c)
    return Pipeline((Stage("source"), SCHEDULED, buffers, offloaded(core), last))
