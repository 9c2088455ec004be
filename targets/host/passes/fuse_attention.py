# SPDX-License-Identifier: Apache-2.0
"""fuse-attention: computes attention by tiles of queries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.analysis.contractions import Contraction, contraction
from xtc.ir.analysis.function_view import FunctionView, functions
from xtc.ir.analysis.linalg_ops import is_constant, node_in_function
from xtc.ir.analysis.structured import SMALL_BYTES, Structured, element_bits, shape_of
from xtc.ir.mlir import Operation, Value
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_passes.tensor._fusion_planner import FusionLimits, FusionPlanner, Members
from xtc_passes.tensor._overwrite import overwrite_inputs
from xtc_passes.tensor._scheduled import fused_nodes
from xtc_passes.tensor._tile import Member, TileGroup

_QUERIES = 64  # most queries of a tile: keys and values are read once per tile
_FEWEST = 16  # with fewer queries, rereading keys costs more than storing scores
_CACHE_PART = 4  # the share of the second-level cache for scores; keys and values need more
_OCTET = 8  # rows of most register tiles
_PARTS = 8  # tiles that balance the load of a few threads
_PARALLEL_WORK = 1 << 18  # multiply-adds of a contraction from which on threads pay


@dataclass(frozen=True)
class FuseAttention(Pass):
    """Compute the two contractions of an attention and the softmax between by tiles of queries.

    Computed whole, the scores of an attention do not fit into the caches near the core, and each
    pass of the softmax and the contraction with the values reads them again. The scores of up to 64
    queries stay in the second-level cache. Their rows are whole, so that no sum is split and no
    maximum has to be corrected as it grows. Tiles change no bits, except through sums that
    `relax-reductions` marks: LLVM may order them differently in each loop. The scores of 16
    queries and 8,192 keys take 512 KiB. Longer rows stay as they are, as do attentions
    with at most 16 KiB of scores, with a user's schedule, on several devices, or with intermediate
    results that other operations read.

    Before:
        %s = linalg.generic ins(%q, %kt) { contraction }          // 12x2048x2048
        %m = maxima of %s; %e = exp(%s - %m); %t = sums of %e; %p = %e / %t
        %o = linalg.generic ins(%p, %v) { contraction }
    After:
        %o = scf.forall over 12 heads and 32 tiles { the same for 64 queries of a head }

    Attributes:
        l2_bytes: size of a core's second-level cache.
        parallel: whether threads share the tiles.
    """

    name: ClassVar[str] = "fuse-attention"
    l2_bytes: int = 524288
    parallel: bool = True

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        with module.context:
            kept = fused_nodes(module)
            for view in functions(module):
                for group in _groups(view, kept, self):
                    overwrite_inputs(view, group.members)
                    group.rewrite()


class _Limits(FusionLimits):
    """The operations that may be fused with the contraction with the values."""

    def depths(self, root: Structured) -> Sequence[int]:
        """None: `reached` gets the loops directly."""
        return ()

    def best(self, plans: Sequence[Members]) -> Members:
        """The only plan."""
        return plans[0]

    def admits(self, members: Sequence[Member], weight: int, producer: Member) -> bool:
        """Whether a producer is one up to the contraction of the scores, or its initial value."""
        scores = [m.nest for m in members[1:] if contraction(m.nest) is not None]
        if contraction(producer.nest) is not None:
            return not scores
        return all(producer.nest.result not in _inputs(nest) for nest in scores)


def _inputs(nest: Structured) -> list[Value]:
    return list(nest.op.operands)[: nest.destination]


def _groups(
    view: FunctionView, kept: set[tuple[str, str]], options: FuseAttention
) -> list[TileGroup]:
    planner = FusionPlanner(view, _Limits())
    found = []
    for root in planner.roots():
        values = contraction(root) if root.op not in planner.taken else None
        loops = () if values is None else _query_loops(view, values)
        if not loops:
            continue
        members = planner.reached(root, loops)
        queries = _queries(members, options)
        if queries and not any(node_in_function(member.nest.op) in kept for member in members):
            planner.take(members)
            sizes = (*(1 for _ in loops[1:]), queries)
            parallel = options.parallel and _is_large(members)
            found.append(TileGroup(view, members, sizes, parallel=parallel))
    return found


def _query_loops(view: FunctionView, values: Contraction) -> tuple[int, ...]:
    """The loops over heads and queries, queries last; empty if no operand is a softmax."""
    nest = values.nest
    for scores in (values, values.swapped):
        producer = view.nest_of(nest.op.operands[scores.a])
        if producer is not None and not producer.reductions and scores.roles.m:
            queries = max(scores.roles.m, key=lambda loop: nest.extents[loop])
            others = [loop for loop in scores.roles.m if loop != queries]
            return (*scores.roles.batch, *others, queries)
    return ()


def _queries(members: Members, options: FuseAttention) -> int:
    """Queries of a tile; 0 if the members are not an attention, or gain nothing by tiles."""
    inner = [member.nest for member in members[:-1]]
    scores = [nest for nest in inner if contraction(nest) is not None]
    if any(_has_weights(nest) for nest in (*scores, members[-1].nest)):
        return 0
    has_maxima = any(nest.reductions and nest not in scores for nest in inner)
    if not scores or not has_maxima:
        return 0
    root = members[-1]
    *heads, extent = (root.nest.extents[loop] for loop in root.loops)
    largest = max(map(_bytes, inner))
    fitting = options.l2_bytes // _CACHE_PART * math.prod(heads) * extent // largest
    most = min(_QUERIES, extent, fitting)
    if largest <= SMALL_BYTES or most < min(_FEWEST, extent) or math.prod(heads) * extent == most:
        return 0
    wanted = extent * math.prod(heads) // _PARTS if options.parallel else most
    return _least_rest(extent, min(most, max(wanted, _FEWEST)))


def _least_rest(extent: int, most: int) -> int:
    """The multiple of 8 from half of `most` to `most` that leaves the smallest remainder."""
    if most < 2 * _OCTET:
        return most
    octets = range(most // _OCTET * _OCTET, most // 2 - 1, -_OCTET)
    return min(octets, key=lambda size: extent % size)


def _has_weights(nest: Structured) -> bool:
    """Whether an operand is constant: a linear layer after a normalization, no attention."""
    return any(map(is_constant, _inputs(nest)))


def _is_large(members: Members) -> bool:
    return any(math.prod(member.nest.extents) >= _PARALLEL_WORK for member in members)


def _bytes(nest: Structured) -> int:
    return math.prod(shape_of(nest.result)) * element_bits(nest.result) // 8
