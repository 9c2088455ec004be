# SPDX-License-Identifier: Apache-2.0
"""The stages of device code, from linalg on tensors to the llvm dialect or to loops for C."""

from __future__ import annotations

from xtc.ir.pipeline import Pipeline, Stage, Step
from xtc_passes.local.bound_local_buffers import BoundLocalBuffers
from xtc_passes.local.double_buffer import DoubleBuffer
from xtc_passes.local.place_local_buffers import PlaceLocalBuffers
from xtc_passes.local.start_transfers import StartTransfers
from xtc_passes.lower._sequences import NO_BF16, TO_ARRAYS, TO_BRANCHES, TO_LLVM
from xtc_passes.lower.contract_multiply_adds import ContractMultiplyAdds
from xtc_passes.lower.copy_by_loops import CopyByLoops
from xtc_passes.lower.drop_memory_spaces import DropMemorySpaces
from xtc_passes.lower.split_vectors import SplitVectors
from xtc_passes.tensor.fuse_elementwise import FuseElementwise
from xtc_passes.tensor.keep_loops import KeepLoops
from xtc_passes.tensor.linalg_to_named_loops import LinalgToNamedLoops
from xtc_passes.tensor.unroll_loops import UnrollLoops
from xtc_passes.tensor.unroll_reductions import UnrollReductions
from xtc_targets.mppa.description import CoolidgeDescription
from xtc_targets.mppa.options import MppaOptions
from xtc_targets.mppa.passes._device_calls import BUFFER, SMEM
from xtc_targets.mppa.passes.announce_accesses import AnnounceAccesses
from xtc_targets.mppa.passes.announce_array_accesses import AnnounceArrayAccesses
from xtc_targets.mppa.passes.call_micro_kernels import CallMicroKernels
from xtc_targets.mppa.passes.count_operations import CountOperations
from xtc_targets.mppa.passes.define_micro_kernels import DefineMicroKernels
from xtc_targets.mppa.passes.distribute_by_default import DistributeByDefault
from xtc_targets.mppa.passes.distribute_clusters import DistributeClusters
from xtc_targets.mppa.passes.distribute_schedules import DistributeSchedules
from xtc_targets.mppa.passes.drop_meshes import DropMeshes
from xtc_targets.mppa.passes.export_kernels import ExportKernels
from xtc_targets.mppa.passes.lower_transfers import LowerTransfers
from xtc_targets.mppa.passes.outline_pe_functions import OutlinePeFunctions

_REGISTER_BITS = 256  # of a vector register of a PE

BUFFERIZED = Stage(
    "bufferized",
    (
        # Loops that a schedule unrolls; unrolled earlier, each copy of a body would be bufferized.
        UnrollLoops(),
        "canonicalize",
        "cse",
        # Gives every allocation a static size, which the later passes need.
        BoundLocalBuffers(),
    ),
)


def offloaded(
    machine: CoolidgeDescription, clusters: int, pes: int, *, double_buffer: bool = True
) -> Stage:
    """Each cluster's share of the work, and every transfer between DDR and SMEM."""
    overlap = (DoubleBuffer(machine.smem_usable_bytes, units=pes),)
    return Stage(
        "offloaded",
        (
            # First, so that transfers of the loop over a cluster's share can overlap too.
            DistributeClusters(clusters=clusters),
            "canonicalize",
            # Merges equal subviews, which shows which copies access the same data.
            "cse",
            # While a copy is still one operation. Transfers that cannot overlap are awaited in
            # place.
            *(overlap if double_buffer else ()),
            StartTransfers(),
            "canonicalize",
            "cse",
        ),
    )


def _device_functions(
    machine: CoolidgeDescription, pes: int, *, checks: bool = False
) -> tuple[Step, ...]:
    """Functions of control code and of PEs, with an offset for every buffer."""
    return (
        DropMeshes(),
        # While structured operations still show their arithmetic.
        CountOperations(),
        # While buffers are views with strides, from which the tiles of micro-kernels are cut.
        CallMicroKernels(),
        "canonicalize",
        "cse",
        # After `cse`, which does not look across functions.
        OutlinePeFunctions(pes=pes),
        DropMemorySpaces(),
        # Before transfers are lowered: a transfer's tag shows how long it uses its buffer.
        PlaceLocalBuffers(
            machine.smem_usable_bytes, symbol=SMEM, announce=BUFFER if checks else ""
        ),
        LowerTransfers(in_flight=machine.dma_in_flight),
        # Parallel loops without a mapping, and nested ones, become plain loops.
        "scf-forall-to-for",
        "canonicalize",
        "cse",
    )


def lowered_to_llvm(machine: CoolidgeDescription, pes: int, *, checks: bool = False) -> Stage:
    """The llvm dialect, for the simulator."""
    return Stage(
        "lowered",
        (
            *_device_functions(machine, pes, checks=checks),
            CopyByLoops(),
            # On buffers, where strided views are free; on tensors they would slow down
            # bufferization.
            UnrollReductions(),
            "convert-linalg-to-loops",
            DefineMicroKernels(),
            KeepLoops(),
            ContractMultiplyAdds(),
            *NO_BF16,
            *TO_BRANCHES,
            *TO_LLVM,
            # While the buffer behind each address is still known.
            *([AnnounceAccesses()] if checks else []),
            # Kernels and the functions of PEs get the signatures of dev.h.
            ExportKernels(),
        ),
    )


def lowered_to_c(machine: CoolidgeDescription, pes: int, *, checks: bool = False) -> Stage:
    """Loops over arrays, which become C for the vendor's compiler."""
    return Stage(
        "lowered",
        (
            *_device_functions(machine, pes, checks=checks),
            CopyByLoops(parts=True),
            UnrollReductions(),
            LinalgToNamedLoops(),
            ContractMultiplyAdds(),
            SplitVectors(bits=_REGISTER_BITS),
            *TO_ARRAYS,
            # Last: the accesses are final.
            *([AnnounceArrayAccesses()] if checks else []),
        ),
    )


def device_stages(options: MppaOptions) -> tuple[Stage, ...]:
    """The stages after bufferization."""
    machine, pes = options.machine, options.pe_count
    lowered = (
        lowered_to_c(machine, pes, checks=options.sim_checks)
        if options.by_c
        else lowered_to_llvm(machine, pes, checks=options.sim_checks)
    )
    return (
        BUFFERIZED,
        offloaded(machine, options.cluster_count, pes, double_buffer=options.double_buffer),
        lowered,
    )


def scheduled(options: MppaOptions) -> Stage:
    """From operations on tensors to loops over clusters and PEs, buffers in SMEM included."""
    machine, clusters, pes = options.machine, options.cluster_count, options.pe_count
    return Stage(
        "scheduled",
        (
            # The user's schedules first: later passes distribute operations without one.
            DistributeSchedules(clusters, pes),
            # Removes reshapes that cancel out, as around a reduction that keeps its dimension: they
            # would separate a chain of elementwise operations.
            "canonicalize",
            # A chain of elementwise operations becomes one operation of a loop nest.
            FuseElementwise(),
            DistributeByDefault(machine.arch, clusters, pes, machine.smem_usable_bytes),
            "canonicalize",
            "cse",
        ),
    )


def mppa_pipeline(options: MppaOptions) -> Pipeline:
    """All stages of device code, in order."""
    return Pipeline((Stage("source"), scheduled(options), *device_stages(options)))
