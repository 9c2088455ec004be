# SPDX-License-Identifier: Apache-2.0
"""The stages of device code, from linalg on tensors to what becomes machine code."""

from __future__ import annotations

from xtc.ir.pipeline import Pipeline, Stage, Step
from xtc_passes.lower._sequences import NO_BF16, TO_BRANCHES, TO_LLVM
from xtc_passes.lower.contract_multiply_adds import ContractMultiplyAdds
from xtc_passes.lower.copy_by_loops import CopyByLoops
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
from xtc_targets.nvgpu.passes.copy_by_vectors import CopyByVectors
from xtc_targets.nvgpu.passes.distribute_blocks import DistributeBlocks
from xtc_targets.nvgpu.passes.distribute_threads import DistributeThreads
from xtc_targets.nvgpu.passes.export_entries import ExportEntries
from xtc_targets.nvgpu.passes.forward_stores import ForwardStores
from xtc_targets.nvgpu.passes.fuse_multiply_adds import FuseMultiplyAdds
from xtc_targets.nvgpu.passes.group_contractions import GroupContractions
from xtc_targets.nvgpu.passes.infer_tile_layouts import InferTileLayouts
from xtc_targets.nvgpu.passes.lower_tiles import LowerTiles
from xtc_targets.nvgpu.passes.map_tensors import MapTensors
from xtc_targets.nvgpu.passes.pipeline_bulk_copies import PipelineBulkCopies
from xtc_targets.nvgpu.passes.place_shared_buffers import PlaceSharedBuffers
from xtc_targets.nvgpu.passes.place_thread_buffers import PlaceThreadBuffers
from xtc_targets.nvgpu.passes.place_tile_buffers import PlaceTileBuffers
from xtc_targets.nvgpu.passes.prefetch_tiles import PrefetchTiles
from xtc_targets.nvgpu.passes.reduce_in_blocks import ReduceInBlocks
from xtc_targets.nvgpu.passes.saturate_conversions import SaturateConversions
from xtc_targets.nvgpu.passes.schedule_contractions import ScheduleContractions
from xtc_targets.nvgpu.passes.split_reductions import SplitReductions
from xtc_targets.nvgpu.passes.use_tensor_cores import UseTensorCores
from xtc_targets.nvgpu.passes.vectorize_elementwise import VectorizeElementwise


def scheduled(options: NvgpuOptions) -> Stage:
    """What each kernel computes."""
    return Stage(
        "scheduled",
        (
            # The user's schedules first: what follows decides for operations that have none.
            ApplySchedules(levels=2),
            "canonicalize",
            # One kernel for a chain of elementwise operations.
            FuseElementwise(),
            "canonicalize",
            "cse",
            # Such a chain behind a contraction belongs to the contraction's kernel.
            GroupContractions(options.tf32),
            # Other contractions: their rows side by side, then tiles.
            TransposeOperands(),
            ScheduleContractions(options.machine.sms),
            VectorizeElementwise(options.machine.sms),
            ApplySchedules(levels=2),
            # What is left are sums of few rows, or of many.
            SplitReductions(options.machine.sms),
            "canonicalize",
            "cse",
        ),
    )


BUFFERIZED = Stage(
    "bufferized",
    (
        # What a schedule wants unrolled; before, each copy of a body would be bufferized.
        UnrollLoops(),
        "canonicalize",
        "cse",
        SplitVectors(bits=8 * ACCESS_BYTES),
    ),
)


def offloaded(options: NvgpuOptions) -> Stage:
    """Each kernel's grid, and what a thread of it does."""
    machine = options.machine
    hopper = machine.capability >= (9, 0)
    return Stage(
        "offloaded",
        (
            # While contractions can be told from other loops.
            UseTensorCores(
                options.tf32,
                machine.sms,
                machine.shared_bytes_sm,
                warpgroups=hopper,
                bulk_copies=hopper and options.bulk_pipelines,
                block_bytes=machine.shared_bytes_block,
            ),
            # Its kernels are tile kernels: the rest is done as for the user's, but that launches
            # make maps.
            InferTileLayouts(),
            MapTensors(hopper, by_launch=True),
            PlaceTileBuffers(machine.shared_bytes_block),
            LowerTiles(stores_matrices=hopper),
            # Long rows are shared by the threads of a block.
            ReduceInBlocks(machine.sms),
            # Copies are loops too, which threads share.
            CopyByLoops(whole=True),
            CopyByVectors(ACCESS_BYTES),
            "convert-linalg-to-parallel-loops",
            "scf-forall-to-parallel",
            "canonicalize",
            # Nests of two levels; others after them.
            DistributeBlocks(machine.max_block_threads),
            DistributeThreads(options.block_threads),
            # The few iterations in which threads fill a tile.
            UnrollLoops(),
            # Views become indices of buffers: what touches the same element can be seen to.
            "fold-memref-alias-ops",
            "canonicalize",
            "cse",
            # Copies of an unrolled body hand their sums on.
            ForwardStores(),
            # What a thread sums up stays in a register: an accumulator's address is known not to
            # change once it is computed outside of the loop.
            "loop-invariant-code-motion",
            HoistAccumulators(),
            PrefetchTiles(),
            AlignVectors(),
            # Buffers that are left are a block's or a thread's own.
            PlaceSharedBuffers(machine.shared_bytes_block),
            PlaceThreadBuffers(),
            "canonicalize",
            "cse",
        ),
    )


_FOR_SIMULATOR = (
    # While pointers still say which memory they point to.
    CheckAccesses(),
    CallSimulator(),
)


def lowered(platform: Platform) -> Stage:
    """The llvm dialect, with the simulator's calls or with what only a GPU has."""
    simulated = platform == "sim"
    return Stage(
        "lowered",
        (
            # Not every processor that simulates can fuse narrower ones.
            ContractMultiplyAdds(least_bits=32 if simulated else 16),
            # Neither libdevice nor LLVM has functions of bfloat16.
            "math-extend-to-supported-types{extra-types=f16 target-type=f32}",
            # Before the llvm dialect has operations for them, which LLVM cannot select for a GPU.
            *(() if simulated else (CallLibdevice(),)),
            *NO_BF16,
            *((SaturateConversions(),) if simulated else ()),
            "affine-expand-index-ops",
            *TO_BRANCHES,
            *TO_LLVM,
            # What LLVM has no intrinsic for becomes the assembler's text.
            *(() if simulated else ("convert-nvvm-to-llvm", "reconcile-unrealized-casts")),
            *(_FOR_SIMULATOR if simulated else (ExportEntries(),)),
        ),
    )


def nvgpu_pipeline(options: NvgpuOptions) -> Pipeline:
    """All stages, in order."""
    stages = offloaded(options), lowered(options.platform)
    return Pipeline((Stage("source"), scheduled(options), BUFFERIZED, *stages))


def _pipelined(options: NvgpuOptions) -> tuple[Step, ...]:
    machine = options.machine
    if machine.capability < (9, 0) or not options.bulk_pipelines:
        return ()
    division = (machine.sms, machine.shared_bytes_sm, machine.shared_bytes_block)
    return (PipelineBulkCopies(*division), "canonicalize")


def tile_pipeline(options: NvgpuOptions) -> Pipeline:
    """All stages of tile kernels, in order."""
    machine = options.machine
    hopper = machine.capability >= (9, 0)
    return Pipeline(
        (
            # Loops carry every variable that they may change; most of them do not.
            Stage("source", ("canonicalize",)),
            # Before layouts: who holds a tile changes. What the user wrote stays in `source`.
            Stage("pipelined", _pipelined(options)),
            # And what the interpreter runs: it rounds as machines do.
            Stage("scheduled", (InferTileLayouts(), FuseMultiplyAdds())),
            # What bulk copies access lies as they want it. Conversions of layouts, which need
            # shared memory too, are known now.
            Stage(
                "bufferized",
                (
                    MapTensors(hopper),
                    PlaceTileBuffers(machine.shared_bytes_block),
                ),
            ),
            Stage("offloaded", (LowerTiles(hopper), "canonicalize", "cse")),
            lowered(options.platform),
        )
    )
