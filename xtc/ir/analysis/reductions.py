# SPDX-License-Identifier: Apache-2.0
"""Properties of linalg operations: reductions in any order, and permuted elements."""

from __future__ import annotations

from xtc.ir.analysis.linalg_ops import index_maps, input_count
from xtc.ir.analysis.structured import FLOAT_ADDITIONS, combining_operation
from xtc.ir.fast_math import allows
from xtc.ir.mlir import AffineDimExpr, AffineMap, Operation


def has_partial_results(op: Operation) -> bool:
    """Whether one operation of the body combines an element with the partial result."""
    combining = combining_operation(op)
    known = op.regions[0].blocks[0].arguments[input_count(op)]
    uses = list(known.uses)
    return combining is not None and len(uses) == 1 and uses[0].owner.operation == combining


def is_unordered(op: Operation) -> bool:
    """Whether the reductions of a linalg operation may run in any order.

    Integer reductions, minima, maxima, and float reductions with `reassoc` may.
    """
    combining = combining_operation(op) if len(op.results) == 1 else None
    if combining is None or not has_partial_results(op):
        return False
    granted = allows(combining, "reassoc") or allows(combining, "fast")
    return combining.name.startswith("arith.") and (
        combining.name not in FLOAT_ADDITIONS or granted
    )


def moved_loops(op: Operation) -> tuple[int, ...]:
    """For a permutation, the loops along contiguous elements of its operand and of its result.

    () if they are the same loop, and for all other operations.
    """
    block = op.regions[0].blocks[0]
    moves = len(block.operations) == 1 and block.operations[0].operands[0] == block.arguments[0]
    if not moves or input_count(op) != 1:
        return ()
    there, here = map(_last_loop, index_maps(op))
    return (there, here) if None not in (there, here) and there != here else ()  # type: ignore[return-value]


def _last_loop(index_map: AffineMap) -> int | None:
    """The loop that alone forms the last index, or None."""
    last = index_map.results[-1] if len(index_map.results) else None
    return last.position if isinstance(last, AffineDimExpr) else None
