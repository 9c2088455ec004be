# SPDX-License-Identifier: Apache-2.0
"""The stages of host code, from linalg on tensors to the llvm dialect or to loops for C."""

from __future__ import annotations

from typing import Literal

from xtc.codegen.llvm import Machine
from xtc.ir.pipeline import Pipeline, Stage, Step
from xtc_passes.lower._sequences import NO_BF16, TO_ARRAYS, TO_BRANCHES, TO_LLVM, TO_MEMREFS
from xtc_passes.lower.contract_multiply_adds import ContractMultiplyAdds
from xtc_passes.lower.copy_by_loops import CopyByLoops
from xtc_passes.lower.expand_math import ExpandMath
from xtc_passes.lower.forward_stores import ForwardStores
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
"""The code generator: LLVM in this process, or a C compiler."""

_FLOAT_BITS = 32
_C_LANES = 64  # partial sums of a contiguous reduction, which C compilers vectorize
_C_MASKED_BITS = 32  # the width that every x86 machine with masks can mask


def _dots(machine: Machine, codegen: Codegen) -> tuple[str, ...]:
    """The dot-product features to use: none for C, which has no portable name for them."""
    return HostDescription.of(machine).dots if codegen == "llvm" else ()


def _convolutions(caches: Caches, *, parallel: bool, winograd: bool) -> tuple[Step, ...]:
    """Passes that compute convolutions with fewer multiplications."""
    # Before default schedules and fusion: the epilogues are still separate operations.
    fewer = (WinogradConvolutions(caches.l2_bytes, parallel),) if winograd else ()
    # While the padding of an image is still next to its convolution.
    return (*fewer, SkipPaddedTaps())


def _default_schedules(
    machine: HostDescription, caches: Caches, dots: tuple[str, ...], *, parallel: bool
) -> AddDefaultSchedules:
    vectors = machine.vector_bits, machine.vector_registers
    return AddDefaultSchedules(*vectors, caches.l1_bytes, caches.l2_bytes, parallel, dots)


def _scheduled(
    machine: Machine, caches: Caches, codegen: Codegen, *, parallel: bool, winograd: bool
) -> Stage:
    description = HostDescription.of(machine)
    dots = _dots(machine, codegen)
    # C cannot allow reassociation for a single reduction; `block-reductions` serves C.
    relaxed = (RelaxReductions(),) if codegen == "llvm" else ()
    return Stage(
        "scheduled",
        (
            *_convolutions(caches, parallel=parallel, winograd=winograd),
            # Removes reshapes that cancel out, which would separate elementwise operations.
            "canonicalize",
            # While the reshape of computed weights is still next to its consumer.
            ExpandReductions(),
            # Before elementwise fusion, which merges the transpose into the operand's producer.
            TransposeOperands(constants=True),
            # A chain of elementwise operations becomes one operation, as does a reduction of such a
            # chain: `fuse-rows` then has fewer operations to fuse.
            FuseElementwise(),
            # Again, for constants that the fused producers of operands read.
            TransposeOperands(constants=True),
            # Before a softmax's operations are fused in different ways: results keep their bits.
            DivideByReciprocals(),
            # Before contractions get schedules: those inside a tile depend on the tile's extents.
            FuseAttention(caches.l2_bytes, parallel),
            # For operations without a user's schedule; from here on all schedules are alike.
            _default_schedules(description, caches, dots, parallel=parallel),
            # Before the schedules are applied, which moves operations into loops.
            InterleaveOperands(dots),
            WidenOperands(),
            # While epilogues are still single operations.
            FuseEpilogues(),
            ApplySchedules(calls=True),
            "canonicalize",
            # While the packed operand is still a slice of a whole constant.
            PackConstants(),
            # Once the constants that the producers read are packed.
            InlineProducers(),
            # The passes below choose loops for operations that still have no schedule.
            *relaxed,
            FuseRows(parallel=parallel, lanes=description.vector_bits // _FLOAT_BITS),
            # After `fuse-rows`: the best order depends on the number of rows of a tile.
            OrderLoops(),
            # After fusion, which may compute the padded tensor. First blocks, then the rest.
            PadByBlocks(caches.l2_bytes // 2),
            FillBorders(parallel, once=True),
            # Last: no other pass handles an operation with two results.
            FuseReductions(),
            "canonicalize",
            "cse",
        ),
    )


_BUFFERS = (
    # Nested parallel loops, and with one thread all parallel loops, become plain loops.
    SerializeParallelLoops(),
    "scf-forall-to-for",
    # Deallocations are inserted last, once the set of buffers is final.
    "func.func(buffer-loop-hoisting)",
    # Before the arena is planned, so that the buffers of kernels share its memory.
    PassWorkspaces(),
    PlanArena(),
    "buffer-deallocation-pipeline",
    # After bufferization, which is slow on many copies of a body.
    UnrollLoops(),
    "canonicalize",
    "cse",
)

# The whole graph runs on the host, so there is nothing to outline.
OFFLOADED = Stage("offloaded")


def _vectors(machine: Machine) -> tuple[Step, ...]:
    """Passes that express arithmetic in vectors and instructions of the machine."""
    description = HostDescription.of(machine)
    return (
        # LLVM does not vectorize a loop that calls the C library.
        ExpandMath(),
        # LLVM would split vectors of odd lengths into single elements.
        SplitVectors(description.vector_bits, description.masked_bits),
        UseDotProducts(_dots(machine, "llvm")),
    )


def _lowered_to_llvm(machine: Machine, profile: bool) -> Stage:
    description = HostDescription.of(machine)
    # LLVM aborts on float64 maxima for 32-bit Arm with double-precision registers.
    expand = ("arith-expand",) if machine.pointer_bits == 32 else ()
    return Stage(
        "lowered",
        (
            # While each tile is still one operation.
            CallExternalFunctions(),
            CopyByLoops(),
            *_vectors(machine),
            # Joined loops are longer, so a larger share of their iterations is in whole vectors.
            JoinLoops(),
            TransposeByBlocks(description.vector_bits),
            # Before addresses are computed from the dimensions of buffers.
            CastReshapes(),
            # Moves addresses of accumulators out of loops, which shows that they are invariant.
            "func.func(fold-memref-alias-ops)",
            "canonicalize",
            "cse",
            "loop-invariant-code-motion",
            HoistAccumulators(),
            # After the accumulators: a sum is a value that its loop carries.
            HoistScales(),
            # Once the first load and the last store of an accumulator are out of its loops.
            ForwardStores(only_masked=True),
            # While reductions are still structured operations.
            BlockReductions(),
            # Several rows at a time, one per lane: their reductions keep the order of additions.
            TransposeRowReductions(bits=description.vector_bits),
            # On buffers, where strided views are free; on tensors they would burden bufferization.
            UnrollReductions(),
            # Last of these: the passes above look for the fill that starts a reduction.
            FillByVectors(description.vector_bits),
            "convert-linalg-to-loops",
            # Removes loops of one iteration: LLVM's compile time grows with the square of the
            # number of loops in an unrolled body.
            "canonicalize",
            # Once the loops are final.
            PrefetchPanels(),
            KeepLoops(),
            ContractMultiplyAdds(),
            # While there are loops, and before arithmetic is expanded to operations on bits.
            *((CountExecutedOperations(),) if profile else ()),
            *NO_BF16,
            *expand,
            *TO_BRANCHES,
            # Once loops are branches: a function cannot return from inside a structured loop.
            CheckAllocations(),
            # After the checks of allocations: an arena is no longer an allocation that they know.
            KeepArenas(),
            *TO_LLVM,
            DefineArenas(huge_pages="linux" in machine.triple),
            # Calls of parallel bodies go through the thread pool, whose address the runtime writes.
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

    With `winograd`, some convolutions use fewer multiplications. With `profile`, each operator is a
    function, and the program records when it ends.
    """
    # First, so that the later passes compile equal operators only once.
    outlined = OutlineKernels(at_least=1) if profile else OutlineKernels()
    kernels = (outlined,) if codegen == "llvm" else ()
    # Before buffers are placed: allocations inside a body move out of its loop, but stay in the
    # function that each thread runs.
    outline = (OutlineParallelLoops(),) if parallel else ()
    # Before bufferization, whose time grows with the readers and writers of one tensor.
    separate = (SeparateEmpties(), SeparateReads())
    # Removes copies and buffers, before operators and parallel loops become functions.
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
