# SPDX-License-Identifier: Apache-2.0
"""The stages of device code, from linalg on tensors to the input of the code generator."""

from __future__ import annotations

from xtc.ir.pipeline import Pipeline, Stage, Step
from xtc_passes.lower._sequences import TO_BRANCHES, TO_LLVM, without_bf16
from xtc_passes.lower.contract_multiply_adds import ContractMultiplyAdds
from xtc_passes.lower.copy_by_loops import CopyByLoops
from xtc_passes.lower.forward_stores import ForwardStores
from xtc_passes.lower.hoist_accumulators import HoistAccumulators
from xtc_passes.lower.split_vectors import SplitVectors
from xtc_passes.tensor.apply_schedules import ApplySchedules
from xtc_passes.tensor.fuse_elementwise import FuseElementwise
from xtc_passes.tensor.transpose_operands import TransposeOperands
from xtc_passes.tensor.unroll_loops import UnrollLoops
from xtc_targets.nvgpu.description import ACCESS_BYTES
from xtc_targets.nvgpu.options import NvgpuOptions, Platform
from xtc_targets.nvgpu.passes.align_vectors import AlignVectors
from xtc_targets.nvgpu.passes.call_libdevice import CallLibdevice
from xtc_targets.nvgpu.passes.call_simulator import CallSimulator
from xtc_targets.nvgpu.passes.check_accesses import CheckAccesses
from xtc_targets.nvgpu.passes.check_promises import CheckPromises
from xtc_targets.nvgpu.passes.copy_by_vectors import CopyByVectors
from xtc_targets.nvgpu.passes.distribute_blocks import DistributeBlocks
from xtc_targets.nvgpu.passes.distribute_threads import DistributeThreads
from xtc_targets.nvgpu.passes.export_entries import ExportEntries
from xtc_targets.nvgpu.passes.flatten_contractions import FlattenContractions
from xtc_targets.nvgpu.passes.fuse_multiply_adds import FuseMultiplyAdds
from xtc_targets.nvgpu.passes.group_contractions import GroupContractions
from xtc_targets.nvgpu.passes.group_reductions import GroupReductions
from xtc_targets.nvgpu.passes.group_rows import GroupRows
from xtc_targets.nvgpu.passes.infer_tile_layouts import InferTileLayouts
from xtc_targets.nvgpu.passes.lower_tiles import LowerTiles
from xtc_targets.nvgpu.passes.map_tensors import MapTensors
from xtc_targets.nvgpu.passes.mark_lines import MarkLines
from xtc_targets.nvgpu.passes.pipeline_bulk_copies import PipelineBulkCopies
from xtc_targets.nvgpu.passes.place_shared_buffers import PlaceSharedBuffers
from xtc_targets.nvgpu.passes.place_thread_buffers import PlaceThreadBuffers
from xtc_targets.nvgpu.passes.place_tile_buffers import PlaceTileBuffers
from xtc_targets.nvgpu.passes.prefetch_tiles import PrefetchTiles
from xtc_targets.nvgpu.passes.reduce_in_blocks import ReduceInBlocks
from xtc_targets.nvgpu.passes.roll_elementwise import RollElementwise
from xtc_targets.nvgpu.passes.round_bf16 import RoundBf16
from xtc_targets.nvgpu.passes.saturate_conversions import SaturateConversions
from xtc_targets.nvgpu.passes.schedule_contractions import ScheduleContractions
from xtc_targets.nvgpu.passes.split_contractions import SplitContractions
from xtc_targets.nvgpu.passes.split_reductions import SplitReductions
from xtc_targets.nvgpu.passes.split_thread_vectors import SplitThreadVectors
from xtc_targets.nvgpu.passes.tile_rows import TileRows
from xtc_targets.nvgpu.passes.use_tensor_cores import UseTensorCores
from xtc_targets.nvgpu.passes.vectorize_elementwise import VectorizeElementwise
from xtc_targets.nvgpu.passes.version_strides import VersionStrides
from xtc_targets.nvgpu.passes.widen_dot_operands import WidenDotOperands


def has_bulk_pipelines(options: NvgpuOptions) -> bool:
    """Whether loops are divided among a warp that issues bulk copies and warpgroups."""
    return options.machine.capability >= (9, 0) and options.bulk_pipelines


def scheduled(options: NvgpuOptions) -> Stage:
    """Decide what each kernel computes, and how it is scheduled."""
    machine = options.machine
    return Stage(
        "scheduled",
        (
            # The user's schedules first: later passes schedule the remaining operations.
            ApplySchedules(levels=2),
            "canonicalize",
            # Convolutions, too, as multiplications of matrices.
            FlattenContractions(options.tf32, machine.sms),
            "canonicalize",
            # Contractions with few tiles: more blocks, and a sum that the epilogue can join.
            SplitContractions(
                options.tf32, machine.arch, machine.sms, bulk_copies=has_bulk_pipelines(options)
            ),
            "canonicalize",
            # One kernel per chain of elementwise operations.
            FuseElementwise(),
            "canonicalize",
            "cse",
            # Such a chain after a contraction is its epilogue, in the same kernel.
            GroupContractions(options.tf32),
            # Reductions along rows and operations around them: one kernel if rows fit registers.
            GroupRows(),
            # Other contractions: make rows contiguous, then choose tiles.
            TransposeOperands(),
            ScheduleContractions(machine.sms),
            # The remaining operations are reductions and elementwise operations. The former begin
            # with a value in a register, and apply the latter to their results.
            SplitReductions(machine.sms),
            GroupReductions(),
            VectorizeElementwise(machine.sms),
            ApplySchedules(levels=2),
            "canonicalize",
            "cse",
        ),
    )


BUFFERIZED = Stage(
    "bufferized",
    (
        # Loops that a schedule unrolls; earlier, each copy of a body would be bufferized.
        UnrollLoops(),
        "canonicalize",
        "cse",
        SplitVectors(bits=8 * ACCESS_BYTES),
    ),
)


def offloaded(options: NvgpuOptions) -> Stage:
    """Choose the grid of each kernel, and generate the code of a thread."""
    machine = options.machine
    hopper = machine.capability >= (9, 0)
    return Stage(
        "offloaded",
        (
            # While reductions and contractions are still distinguishable from other loops.
            TileRows(machine.sms),
            UseTensorCores(
                options.tf32,
                machine.sms,
                machine.shared_bytes_sm,
                warpgroups=hopper,
                bulk_copies=has_bulk_pipelines(options),
                block_bytes=machine.shared_bytes_block,
            ),
            # Both write tile kernels, which are lowered like those of users, except that
            # launches encode their tensor maps.
            InferTileLayouts(),
            MapTensors(hopper, by_launch=True),
            PlaceTileBuffers(machine.shared_bytes_block),
            LowerTiles(stores_matrices=hopper),
            # The threads of a block share long rows.
            ReduceInBlocks(machine.sms),
            # Copies become loops, which threads share.
            CopyByLoops(whole=True),
            CopyByVectors(ACCESS_BYTES),
            "convert-linalg-to-parallel-loops",
            "scf-forall-to-parallel",
            "canonicalize",
            # Loop nests of two levels first, then the others.
            DistributeBlocks(machine.max_block_threads),
            DistributeThreads(options.block_threads),
            # The short loops in which threads fill a tile.
            UnrollLoops(),
            # Fold views into indices, so that accesses to the same element are recognized.
            "fold-memref-alias-ops",
            "canonicalize",
            "cse",
            # Copies of an unrolled body pass their accumulators in registers.
            ForwardStores(),
            # Keep accumulators in registers: once its address is computed outside the loop, an
            # accumulator is known to be loop-invariant.
            "loop-invariant-code-motion",
            HoistAccumulators(),
            PrefetchTiles(),
            AlignVectors(),
            # The remaining buffers are private to a block or a thread.
            PlaceSharedBuffers(machine.shared_bytes_block),
            PlaceThreadBuffers(),
            "canonicalize",
            "cse",
        ),
    )


_FOR_SIMULATOR = (
    # While pointers still have their address spaces.
    CheckAccesses(),
    CallSimulator(),
)


def lowered(platform: Platform, lines: bool = False) -> Stage:
    """Lower to the llvm dialect, with calls of the simulator or with GPU instructions.

    With `lines`, the simulator knows the user's lines.
    """
    simulated = platform == "sim"
    return Stage(
        "lowered",
        (
            CheckPromises(simulated),
            # Not every host processor of the simulator can fuse narrower types.
            ContractMultiplyAdds(least_bits=32 if simulated else 16),
            # Neither libdevice nor LLVM has bfloat16 functions.
            "math-extend-to-supported-types{extra-types=f16 target-type=f32}",
            # Before they become llvm operations, which LLVM cannot select for a GPU.
            *(() if simulated else (CallLibdevice(),)),
            *without_bf16(*(() if simulated else (RoundBf16(),))),
            *((SaturateConversions(),) if simulated else ()),
            "affine-expand-index-ops",
            *TO_BRANCHES,
            *TO_LLVM,
            # Operations without an LLVM intrinsic become inline assembly.
            *(() if simulated else ("convert-nvvm-to-llvm", "reconcile-unrealized-casts")),
            *(_FOR_SIMULATOR if simulated else (ExportEntries(),)),
            *((MarkLines(),) if simulated and lines else ()),
        ),
    )


def nvgpu_pipeline(options: NvgpuOptions) -> Pipeline:
    """All stages, in order."""
    stages = offloaded(options), lowered(options.platform)
    return Pipeline((Stage("source"), scheduled(options), BUFFERIZED, *stages))


def _pipelined(options: NvgpuOptions) -> tuple[Step, ...]:
    machine = options.machine
    if not has_bulk_pipelines(options):
        return ()
    division = (machine.sms, machine.shared_bytes_sm, machine.shared_bytes_block)
    return (PipelineBulkCopies(*division), "canonicalize")


def tile_pipeline(options: NvgpuOptions) -> Pipeline:
    """All stages of tile kernels, in order."""
    machine = options.machine
    hopper = machine.capability >= (9, 0)
    return Pipeline(
        (
            # Loops carry every variable that they may change; most are unchanged.
            Stage("source", ("canonicalize",)),
            # Before layouts, as tiles move to other threads. `source` keeps the user's code.
            Stage("pipelined", _pipelined(options)),
            # The interpreter runs this stage, so that it rounds as machines do. Versions come
            # before layouts, which depend on the widths of accesses.
            Stage(
                "scheduled",
                (WidenDotOperands(), VersionStrides(), InferTileLayouts(), FuseMultiplyAdds()),
            ),
            # Choose the memory layout that bulk copies require. Layout conversions, which also
            # need shared memory, are known here.
            Stage(
                "bufferized",
                (
                    MapTensors(hopper),
                    PlaceTileBuffers(machine.shared_bytes_block),
                ),
            ),
            # Bottom-up: top-down, a loop would be visited once for each value that it carries.
            Stage(
                "offloaded",
                (
                    LowerTiles(hopper),
                    RollElementwise(),
                    SplitThreadVectors(),
                    "canonicalize{top-down=false}",
                    "cse",
                ),
            ),
            lowered(options.platform, lines=True),
        )
    )
