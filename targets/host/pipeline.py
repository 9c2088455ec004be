# SPDX-License-Identifier: Apache-2.0
"""The host's stages, from linalg on tensors to the llvm dialect."""

from __future__ import annotations

from xtc.core.pipeline import Pipeline, Stage
from xtc_passes.apply_schedules import ApplySchedules
from xtc_passes.bf16_to_bits import Bf16ToBits
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

BUFFERIZED = Stage(
    "bufferized",
    (
        # Results are computed where the caller wants them, not in one more buffer and a copy.
        "eliminate-empty-tensors",
        "empty-tensor-to-alloc-tensor",
        "one-shot-bufferize{bufferize-function-boundaries "
        "function-boundary-type-conversion=identity-layout-map}",
        "canonicalize",
        "cse",
        # Frees go in last, when it is settled which buffers exist.
        "func.func(buffer-loop-hoisting)",
        "buffer-deallocation-pipeline",
        # Copies of a body cost nothing from here on.
        UnrollLoops(),
        "canonicalize",
        "cse",
    ),
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


# LLVM is shown no bfloat16. What is computed in it without rounding, as maxima, moves to float32.
_NO_BF16 = (
    "arith-emulate-unsupported-floats{source-types=bf16 target-type=f32}",
    ExpandBf16(roundings=True),
    Bf16ToBits(),
)


def host_pipeline() -> Pipeline:
    """The stages after `source`."""
    lowered = Stage(
        "lowered",
        (
            CopyByLoops(),
            UnrollReductions(),
            "convert-linalg-to-loops",
            KeepOuterLoops(),
            ContractMultiplyAdds(),
            *_NO_BF16,
            *_TO_LLVM,
        ),
    )
    return Pipeline((Stage("source"), SCHEDULED, BUFFERIZED, OFFLOADED, lowered))
