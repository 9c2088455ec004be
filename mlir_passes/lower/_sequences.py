# SPDX-License-Identifier: Apache-2.0
"""Sequences of passes that several pipelines use."""

from xtc.ir.passes import Pass
from xtc_passes.lower.bf16_to_bits import Bf16ToBits
from xtc_passes.lower.expand_bf16 import ExpandBf16
from xtc_passes.lower.hoist_accumulators import HoistAccumulators
from xtc_passes.lower.set_index_width import SetIndexWidth

TO_MEMREFS = (
    # Results are computed in the caller's buffers, without an extra buffer and a copy.
    "eliminate-empty-tensors",
    "empty-tensor-to-alloc-tensor",
    "one-shot-bufferize{bufferize-function-boundaries "
    "function-boundary-type-conversion=identity-layout-map}",
    "canonicalize",
    "cse",
)
"""Lowers tensors to buffers, arguments of functions included."""


def without_bf16(*roundings: Pass) -> tuple[str | Pass, ...]:
    """Passes that remove bfloat16 before LLVM. `roundings` are those of a machine that can round to
    it. Operations that do not round, such as maxima, run in float32."""
    return (
        "arith-emulate-unsupported-floats{source-types=bf16 target-type=f32}",
        *roundings,
        ExpandBf16(roundings=True),
        Bf16ToBits(),
    )


NO_BF16 = without_bf16()
"""The same for a machine that cannot."""

TO_BRANCHES = (
    # Strided views become plain addresses, computed by affine arithmetic.
    "expand-strided-metadata",
    "lower-affine",
    "convert-vector-to-scf",
    "convert-scf-to-cf",
)
"""Lowers loops to branches; a function can then return from anywhere."""

TO_LLVM = (
    # LLVM's intrinsics first; the remaining functions (erf, tanh) are calls of the C library.
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
"""Lowers branches, vectors and buffers to the llvm dialect, with 64-bit indices."""


def to_llvm(index_bits: int) -> tuple[str | Pass, ...]:
    """As TO_LLVM, for another width of indices, such as that of 32-bit microcontrollers."""
    calls = f"use-bare-ptr-memref-call-conv=1 index-bitwidth={index_bits}"
    return (
        SetIndexWidth(index_bits),
        "convert-math-to-llvm",
        "convert-math-to-libm",
        f"convert-func-to-llvm{{{calls}}}",
        # One pass for all dialects: only it reads the data layout.
        "convert-to-llvm{dynamic=1}",
        "reconcile-unrealized-casts",
        "canonicalize",
        "cse",
    )


TO_ARRAYS = (
    # Views become indices into their buffers, so that C has plain arrays.
    "fold-memref-alias-ops",
    "canonicalize",
    "cse",
    # Moves the address of an accumulator out of its loops, which shows that it is invariant.
    "loop-invariant-code-motion",
    HoistAccumulators(),
    "affine-expand-index-ops",
    "lower-affine",
    "canonicalize",
    "cse",
)
"""Replaces views by indices into buffers, for C."""
