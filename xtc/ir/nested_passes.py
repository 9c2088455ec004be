# SPDX-License-Identifier: Apache-2.0
"""Runs MLIR's function-local passes on several functions in parallel."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation

_FUNCTIONS = ("func.func", "llvm.func")
_LOCAL = frozenset(
    {
        "affine-expand-index-ops",
        "arith-emulate-unsupported-floats",
        "arith-expand",
        "canonicalize",
        "convert-arith-to-llvm",
        "convert-linalg-to-loops",
        "convert-math-to-llvm",
        "convert-scf-to-cf",
        "convert-ub-to-llvm",
        "convert-vector-to-llvm",
        "convert-vector-to-scf",
        "cse",
        "expand-strided-metadata",
        "fold-memref-alias-ops",
        "loop-invariant-code-motion",
        "lower-affine",
        "reconcile-unrealized-casts",
        "scf-forall-to-for",
    }
)
"""Passes that neither read nor write IR outside the function they run on."""


def nested_passes(module: Operation, passes: Sequence[str]) -> str:
    """The text of a pipeline of these passes, nested by function if the module has several.

    Consecutive function-local passes run on functions in parallel. The resulting IR is the same as
    that of passes on the whole module.
    """
    if not _is_of_functions(module) or _declares_functions(module, passes):
        return ",".join(passes)
    texts = []
    for is_local, group in itertools.groupby(passes, _is_local):
        text = ",".join(group)
        texts.append(f"any({text})" if is_local else text)
    return ",".join(texts)


def _is_local(text: str) -> bool:
    return text.partition("{")[0] in _LOCAL


def _is_of_functions(module: Operation) -> bool:
    """Whether the module has several functions and no other code."""
    ops = [op.operation for op in module.regions[0].blocks[0].operations]
    kinds = [op.name for op in ops if any(region.blocks for region in op.regions)]
    return len(kinds) > 1 and all(kind in _FUNCTIONS for kind in kinds)


def _declares_functions(module: Operation, passes: Sequence[str]) -> bool:
    """Whether the passes would declare functions in the module, as for `vector.print`."""
    from xtc.ir.mlir import all_operations

    converted = any(text.startswith("convert-vector-to-llvm") for text in passes)
    return converted and any(op.name == "vector.print" for op in all_operations(module))
