# SPDX-License-Identifier: Apache-2.0
"""The host's stages, from linalg on tensors to the llvm dialect."""

from __future__ import annotations

from xtc.core.llvm import Machine
from xtc.core.pipeline import Pipeline, Stage
from xtc_passes.apply_schedules import ApplySchedules
from xtc_passes.contract_multiply_adds import ContractMultiplyAdds
from xtc_passes.copy_by_loops import CopyByLoops
from xtc_passes.expand_bf16 import ExpandBf16
from xtc_passes.fuse_elementwise import FuseElementwise
from xtc_passes.fuse_rows import FuseRows
from xtc_passes.keep_outer_loops import KeepOuterLoops
from xtc_passes.order_loops import OrderLoops
from xtc_passes.transpose_operands import TransposeOperands
from xtc_passes.unroll_loops import UnrollLoops
from xtc_passes.unroll_reductions import UnrollReductions
from xtc_targets.host.passes.dispatch_parallel_calls import DispatchParallelCalls
from xtc_targets.host.passes.outline_parallel_loops import OutlineParallelLoops

SCHEDULED = Stage(
    "scheduled",
    (
        # The user's schedules first: what follows decides for operations that have none.
        ApplySchedules(),
        # One loop nest for a chain of elementwise operations, and for a reduction of such a chain.
        TransposeOperands(),
        FuseElementwise(),
        FuseRows(),
        OrderLoops(),
        "canonicalize",
        "cse",
    ),
)

_TO_MEMREFS = (
    # Results are computed where the caller wants them, not in one more buffer and a copy.
    "eliminate-empty-tensors",
    "empty-tensor-to-alloc-tensor",
    "one-shot-bufferize{bufferize-function-boundaries "
    "function-boundary-type-conversion=identity-layout-map}",
    "canonicalize",
    "cse",
)

_BUFFERS = (
    # Parallel loops inside others, and all of them where one thread is to run: plain loops.
    "scf-forall-to-for",
    # Frees go in last, when it is settled which buffers exist.
    "func.func(buffer-loop-hoisting)",
    "buffer-deallocation-pipeline",
    # Copies of a body cost nothing from here on.
    UnrollLoops(),
    "canonicalize",
    "cse",
)

# Everything of this graph runs on the host: nothing to outline.
OFFLOADED = Stage("offloaded")

_TO_LLVM = (
    # Strided views become plain addresses, which leaves affine arithmetic behind.
    "expand-strided-metadata",
    "lower-affine",
    "convert-vector-to-scf",
    "convert-scf-to-cf",
    # Functions that LLVM has first; the C library has the rest (erf, tanh).
    "convert-math-to-llvm",
    "convert-math-to-libm",
    "convert-vector-to-llvm",
    "finalize-memref-to-llvm",
    # Arguments are bare addresses: shapes are static and arrays dense.
    "convert-func-to-llvm{use-bare-ptr-memref-call-conv=1}",
    "convert-arith-to-llvm",
    "convert-cf-to-llvm",
    "convert-ub-to-llvm",
    "reconcile-unrealized-casts",
    "canonicalize",
    "cse",
)


def host_pipeline(machine: Machine, *, parallel: bool = True) -> Pipeline:
    """The stages after `source`; without `parallel`, one thread runs all loops."""
    # A body becomes a function before buffers are placed, so that those it allocates for every
    # iteration are moved out of the loop, but stay with the thread.
    outline = (OutlineParallelLoops(),) if parallel else ()
    bufferized = Stage("bufferized", (*_TO_MEMREFS, *outline, *_BUFFERS))
    lowered = Stage(
        "lowered",
        (
            CopyByLoops(),
            UnrollReductions(),
            "convert-linalg-to-loops",
            KeepOuterLoops(),
            ContractMultiplyAdds(),
            _expand_bf16(machine),
            *_TO_LLVM,
            DispatchParallelCalls(),
        ),
    )
    return Pipeline((Stage("source"), SCHEDULED, bufferized, OFFLOADED, lowered))


def _expand_bf16(machine: Machine) -> ExpandBf16:
    """Rounding to bfloat16 too, where neither the processor nor libgcc 12 has it."""
    native = "+avx512bf16" in machine.features or machine.triple.startswith("aarch64")
    return ExpandBf16(roundings=not native)
