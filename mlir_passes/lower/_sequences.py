# SPDX-License-Identifier: Apache-2.0
"""Sequences of passes that pipelines have in common."""

from xtc.ir.passes import Pass
from xtc_passes.lower.bf16_to_bits import Bf16ToBits
from xtc_passes.lower.expand_bf16 import ExpandBf16
from xtc_passes.lower.hoist_accumulators import HoistAccumulators
from xtc_passes.lower.set_index_width import SetIndexWidth

TO_MEMREFS = (
    # Results are computed where the caller wants them, not in one more buffer and a copy.
    "eliminate-empty-tensors",
    "empty-tensor-to-alloc-tensor",
    "one-shot-bufferize{bufferize-function-boundaries "
    "function-boundary-type-conversion=identity-layout-map}",
    "canonicalize",
    "cse",
)
"""Tensors become buffers, also those that functions take."""

NO_BF16 = (
    "arith-emulate-unsupported-floats{source-types=bf16 target-type=f32}",
    ExpandBf16(roundings=True),
    Bf16ToBits(),
)
"""LLVM is shown no bfloat16: what is computed in it without rounding, as maxima, is in float32."""

TO_BRANCHES = (
    # Strided views become plain addresses, which leaves affine arithmetic behind.
    "expand-strided-metadata",
    "lower-affine",
    "convert-vector-to-scf",
    "convert-scf-to-cf",
)
"""Loops become branches, from where a function can be left anywhere."""

TO_LLVM = (
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
"""Branches, vectors and buffers become the llvm dialect, with indices of 64 bits."""


def to_llvm(index_bits: int) -> tuple[str | Pass, ...]:
    """As TO_LLVM, for machines whose indices have another width, such as 32-bit controllers."""
    calls = f"use-bare-ptr-memref-call-conv=1 index-bitwidth={index_bits}"
    return (
        SetIndexWidth(index_bits),
        "convert-math-to-llvm",
        "convert-math-to-libm",
        f"convert-func-to-llvm{{{calls}}}",
        # One pass for all dialects: it alone asks the data layout.
        "convert-to-llvm{dynamic=1}",
        "reconcile-unrealized-casts",
        "canonicalize",
        "cse",
    )


TO_ARRAYS = (
    # Views become indices of the buffers that they look at, so that C has plain arrays.
    "fold-memref-alias-ops",
    "canonicalize",
    "cse",
    # An accumulator's address is known not to change once it is computed outside of the loop.
    "loop-invariant-code-motion",
    HoistAccumulators(),
    "affine-expand-index-ops",
    "lower-affine",
    "canonicalize",
    "cse",
)
"""Views become indices of buffers, as C has them."""
