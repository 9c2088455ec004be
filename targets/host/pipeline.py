# SPDX-License-Identifier: Apache-2.0
"""The host's stages, from linalg on tensors to the llvm dialect, or to what is printed as C."""

from __future__ import annotations

from typing import Literal

from xtc.codegen.llvm import Machine
from xtc.ir.pipeline import Pipeline, Stage, Step
from xtc_passes.lower._sequences import NO_BF16, TO_ARRAYS, TO_BRANCHES, TO_LLVM, TO_MEMREFS
from xtc_passes.lower.contract_multiply_adds import ContractMultiplyAdds
from xtc_passes.lower.copy_by_loops import CopyByLoops
from xtc_passes.lower.expand_math import ExpandMath
from xtc_passes.lower.hoist_accumulators import HoistAccumulators
from xtc_passes.lower.split_vectors import SplitVectors
from xtc_passes.tensor.apply_schedules import ApplySchedules
from xtc_passes.tensor.fill_borders import FillBorders
from xtc_passes.tensor.fuse_elementwise import FuseElementwise
from xtc_passes.tensor.keep_loops import KeepLoops
from xtc_passes.tensor.linalg_to_named_loops import LinalgToNamedLoops
from xtc_passes.tensor.transpose_operands import TransposeOperands
from xtc_passes.tensor.unroll_loops import UnrollLoops
from xtc_passes.tensor.unroll_reductions import UnrollReductions
from xtc_targets.host.data_caches import Caches
from xtc_targets.host.description import HostDescription
from xtc_targets.host.passes.add_default_schedules import AddDefaultSchedules
from xtc_targets.host.passes.block_reductions import BlockReductions
from xtc_targets.host.passes.call_external_functions import CallExternalFunctions
from xtc_targets.host.passes.cast_reshapes import CastReshapes
from xtc_targets.host.passes.check_allocations import CheckAllocations
from xtc_targets.host.passes.count_executed_operations import CountExecutedOperations
from xtc_targets.host.passes.define_arenas import DefineArenas
from xtc_targets.host.passes.dispatch_parallel_calls import DispatchParallelCalls
from xtc_targets.host.passes.divide_by_reciprocals import DivideByReciprocals
from xtc_targets.host.passes.divide_copies import DivideCopies
from xtc_targets.host.passes.expand_reductions import ExpandReductions
from xtc_targets.host.passes.fill_by_vectors import FillByVectors
from xtc_targets.host.passes.fuse_attention import FuseAttention
from xtc_targets.host.passes.fuse_epilogues import FuseEpilogues
from xtc_targets.host.passes.fuse_reductions import FuseReductions
from xtc_targets.host.passes.fuse_rows import FuseRows
from xtc_targets.host.passes.hoist_scales import HoistScales
from xtc_targets.host.passes.inline_producers import InlineProducers
from xtc_targets.host.passes.interleave_operands import InterleaveOperands
from xtc_targets.host.passes.join_loops import JoinLoops
from xtc_targets.host.passes.keep_arenas import KeepArenas
from xtc_targets.host.passes.order_loops import OrderLoops
from xtc_targets.host.passes.outline_kernels import OutlineKernels
from xtc_targets.host.passes.outline_parallel_loops import OutlineParallelLoops
from xtc_targets.host.passes.overwrite_operands import OverwriteOperands
from xtc_targets.host.passes.pack_constants import PackConstants
from xtc_targets.host.passes.pad_by_blocks import PadByBlocks
from xtc_targets.host.passes.pass_workspaces import PassWorkspaces
from xtc_targets.host.passes.plan_arena import PlanArena
from xtc_targets.host.passes.prefetch_panels import PrefetchPanels
from xtc_targets.host.passes.record_kernels import RecordKernels
from xtc_targets.host.passes.relax_reductions import RelaxReductions
from xtc_targets.host.passes.separate_empties import SeparateEmpties
from xtc_targets.host.passes.separate_reads import SeparateReads
from xtc_targets.host.passes.serialize_parallel_loops import SerializeParallelLoops
from xtc_targets.host.passes.share_buffers import ShareBuffers
from xtc_targets.host.passes.skip_padded_taps import SkipPaddedTaps
from xtc_targets.host.passes.transpose_by_blocks import TransposeByBlocks
from xtc_targets.host.passes.transpose_row_reductions import TransposeRowReductions
from xtc_targets.host.passes.use_dot_products import UseDotProducts
from xtc_targets.host.passes.widen_operands import WidenOperands
from xtc_targets.host.passes.winograd_convolutions import WinogradConvolutions
from xtc_targets.host.steady_counter import steady_counter

Codegen = Literal["llvm", "c"]
"""What generates the code: LLVM in this process, or a C compiler from C that is printed."""

_FLOAT_BITS = 32
_C_LANES = 64  # partial sums of a contiguous reduction, of which C compilers make vectors
_C_MASKED_BITS = 32  # what all x86 machines with masks mask


def _dots(machine: Machine, codegen: Codegen) -> tuple[str, ...]:
    """C has no names for these instructions that all compilers know."""
    return HostDescription.of(machine).dots if codegen == "llvm" else ()


def _convolutions(caches: Caches, *, parallel: bool, winograd: bool) -> tuple[Step, ...]:
    """With fewer multiplications."""
    # While what computes on a result is a few operations without schedules.
    fewer = (WinogradConvolutions(caches.l2_bytes, parallel),) if winograd else ()
    # While what pads an image is next to what reads it.
    return (*fewer, SkipPaddedTaps())


def _scheduled(
    machine: Machine, caches: Caches, codegen: Codegen, *, parallel: bool, winograd: bool
) -> Stage:
    description = HostDescription.of(machine)
    dots = _dots(machine, codegen)
    # C has no way to let single sums be reordered: `block-reductions` does it there.
    relaxed = (RelaxReductions(),) if codegen == "llvm" else ()
    return Stage(
        "scheduled",
        (
            *_convolutions(caches, parallel=parallel, winograd=winograd),
            # Reshapes that cancel out, as around a sum that keeps its dimension, part a chain.
            "canonicalize",
            # While the reshape of computed weights is next to what reads them.
            ExpandReductions(),
            # Before elementwise fusion, which lets what computes an operand write it transposed.
            TransposeOperands(constants=True),
            # One loop nest for a chain of elementwise operations, and for a reduction of such a
            # chain: each is one member less for the rows.
            FuseElementwise(),
            # What computes an operand reads its constants in the order in which it writes.
            TransposeOperands(constants=True),
            # Before parts of a softmax are moved apart: its bits stay the same.
            DivideByReciprocals(),
            # While the contractions have no schedules: a tile's are those of its extents.
            FuseAttention(caches.l2_bytes, parallel),
            # For what the user has no schedule for; from here on they are all alike.
            AddDefaultSchedules(
                description.vector_bits,
                description.vector_registers,
                caches.l1_bytes,
                caches.l2_bytes,
                parallel,
                dots,
            ),
            # Before operations are moved into loops.
            InterleaveOperands(dots),
            WidenOperands(),
            # While they are single operations.
            FuseEpilogues(),
            ApplySchedules(calls=True),
            "canonicalize",
            # While what a loop packs is a slice of a whole constant.
            PackConstants(),
            # Once the constants that they read are packed.
            InlineProducers(),
            # What follows decides for operations that still have none.
            *relaxed,
            FuseRows(parallel=parallel, lanes=description.vector_bits // _FLOAT_BITS),
            # The best order depends on how many rows a tile has.
            OrderLoops(),
            # After fusion, which may compute what is padded. First what plain loops pad in part.
            PadByBlocks(caches.l2_bytes // 2),
            FillBorders(parallel, once=True),
            # What has two results is known to no other pass.
            FuseReductions(),
            "canonicalize",
            "cse",
        ),
    )


_BUFFERS = (
    # Parallel loops inside others, and all of them where one thread is to run: plain loops.
    SerializeParallelLoops(),
    "scf-forall-to-for",
    # Frees go in last, when it is settled which buffers exist.
    "func.func(buffer-loop-hoisting)",
    # Then those of kernels too are the network's, which share memory.
    PassWorkspaces(),
    PlanArena(),
    "buffer-deallocation-pipeline",
    # Copies of a body cost nothing from here on.
    UnrollLoops(),
    "canonicalize",
    "cse",
)

# Everything of this graph runs on the host: nothing to outline.
OFFLOADED = Stage("offloaded")


def _lowered_to_llvm(machine: Machine, profile: bool) -> Stage:
    description = HostDescription.of(machine)
    # LLVM ends the process on maxima of float64 for 32-bit Arm with registers for these.
    expand = ("arith-expand",) if machine.pointer_bits == 32 else ()
    return Stage(
        "lowered",
        (
            # While each tile is one operation.
            CallExternalFunctions(),
            CopyByLoops(),
            # A loop with calls of the C library would not be vectorised.
            ExpandMath(),
            # LLVM's own way with vectors of odd lengths is element by element.
            SplitVectors(description.vector_bits, description.masked_bits),
            UseDotProducts(_dots(machine, "llvm")),
            # Long loops have the most whole vectors.
            JoinLoops(),
            TransposeByBlocks(description.vector_bits),
            # Before addresses are computed by the dimensions of buffers.
            CastReshapes(),
            # An accumulator's address is seen not to change once it is computed outside of loops.
            "func.func(fold-memref-alias-ops)",
            "canonicalize",
            "cse",
            "loop-invariant-code-motion",
            HoistAccumulators(),
            # A sum is a value of its loop by then.
            HoistScales(),
            # Before anything else is made of a sum.
            BlockReductions(),
            # Rows next to each other, so that sums along them need no other order.
            TransposeRowReductions(bits=description.vector_bits),
            # On buffers, where strided views are free; on tensors they would burden bufferization.
            UnrollReductions(),
            # The others may look for what starts a sum.
            FillByVectors(description.vector_bits),
            "convert-linalg-to-loops",
            # Loops of one iteration go: where a body is written out often, LLVM's time grows with
            # the square of how many loops there are.
            "canonicalize",
            # By the loops that are left.
            PrefetchPanels(),
            KeepLoops(),
            ContractMultiplyAdds(),
            # While loops are seen, and nothing is computed by bits yet.
            *((CountExecutedOperations(),) if profile else ()),
            *NO_BF16,
            *expand,
            *TO_BRANCHES,
            # A function can be left from anywhere only where loops are branches.
            CheckAllocations(),
            # What may find no memory is known: an arena need not be an allocation any more.
            KeepArenas(),
            *TO_LLVM,
            DefineArenas(huge_pages="linux" in machine.triple),
            # Calls of parallel bodies go through the pool, whose address the runtime writes.
            DispatchParallelCalls(),
            *((RecordKernels(steady_counter(machine)),) if profile else ()),
        ),
    )


def host_pipeline(
    machine: Machine,
    caches: Caches,
    codegen: Codegen = "llvm",
    *,
    parallel: bool = True,
    winograd: bool = True,
    profile: bool = False,
) -> Pipeline:
    """The stages after `source`; without `parallel`, one thread runs all loops.

    With `winograd`, some convolutions take fewer multiplications. With `profile`, each operator is
    a function, and the program records when it ends.
    """
    # First of all, so that the rest is done once for each kind of operator.
    outlined = OutlineKernels(at_least=1) if profile else OutlineKernels()
    kernels = (outlined,) if codegen == "llvm" else ()
    # A body becomes a function before buffers are placed, so that those it allocates for every
    # iteration are moved out of the loop, but stay with the thread.
    outline = (OutlineParallelLoops(),) if parallel else ()
    # Bufferization compares all that reads or writes the same tensor.
    separate = (SeparateEmpties(), SeparateReads())
    # What need not be copied or written apart, before operators and parallel loops are functions.
    buffers = (ShareBuffers(), OverwriteOperands(), DivideCopies(parallel))
    bufferized = Stage(
        "bufferized", (*separate, *TO_MEMREFS, *buffers, *kernels, *outline, *_BUFFERS)
    )
    scheduled = _scheduled(machine, caches, codegen, parallel=parallel, winograd=winograd)
    lowered = _lowered_to_c(machine) if codegen == "c" else _lowered_to_llvm(machine, profile)
    return Pipeline((Stage("source"), scheduled, bufferized, OFFLOADED, lowered))


def _lowered_to_c(machine: Machine) -> Stage:
    """Loops over arrays, and vectors that fit the machine's registers."""
    description = HostDescription.of(machine)
    return Stage(
        "lowered",
        (
            CallExternalFunctions(),
            CopyByLoops(parts=True),
            BlockReductions(lanes=_C_LANES),
            UnrollReductions(),
            LinalgToNamedLoops(),
            ContractMultiplyAdds(),
            SplitVectors(description.vector_bits, description.masked_bits and _C_MASKED_BITS),
            *TO_ARRAYS,
        ),
    )
